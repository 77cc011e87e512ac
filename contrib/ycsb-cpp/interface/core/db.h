// db.h - stands in for YCSB-cpp's: the interface that a binding implements.
#pragma once

#include <string>
#include <vector>

#include "utils/properties.h"

namespace ycsbc {

class DB {
 public:
#ifdef FIELD_IS_PAIR  // some forks have it so
  using Field = std::pair<std::string, std::string>;
#else
  struct Field {
    std::string name, value;
  };
#endif
  enum Status { kOK = 0, kError, kNotFound, kNotImplemented };
  virtual ~DB() {}
  virtual void Init() {}
  virtual void Cleanup() {}
  virtual Status Read(const std::string &table, const std::string &key, const std::vector<std::string> *fields,
                      std::vector<Field> &result) = 0;
  virtual Status Scan(const std::string &table, const std::string &key, int record_count,
                      const std::vector<std::string> *fields, std::vector<std::vector<Field>> &result) = 0;
  virtual Status Update(const std::string &table, const std::string &key, std::vector<Field> &values) = 0;
  virtual Status Insert(const std::string &table, const std::string &key, std::vector<Field> &values) = 0;
  virtual Status Delete(const std::string &table, const std::string &key) = 0;
  void SetProps(utils::Properties *props) { props_ = props; }

 protected:
  utils::Properties *props_;
};

}  // namespace ycsbc
