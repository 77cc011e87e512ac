// cellar_db.h - a binding of YCSB-cpp to Cellar: records are rows of one table, keys byte strings, each operation a
// transaction. YCSB-cpp makes one of these for each of its client threads, and calls Init() on that thread; with -load
// -run it then goes on with it on another thread.
#pragma once

#include "core/db.h"
#if __has_include("utils/properties.h")
#include "utils/properties.h"
#else
#include "core/properties.h"
#endif

#include <cellar_cluster.h>
#include <cellar_lab.h>

#include <functional>
#include <string>
#include <vector>

namespace ycsbc {

class CellarDB : public DB {
 public:
  void Init() override;
  void Cleanup() override;
  Status Read(const std::string &table, const std::string &key, const std::vector<std::string> *fields,
              std::vector<Field> &result) override;
  Status Scan(const std::string &table, const std::string &key, int record_count,
              const std::vector<std::string> *fields, std::vector<std::vector<Field>> &result) override;
  Status Update(const std::string &table, const std::string &key, std::vector<Field> &values) override;
  Status Insert(const std::string &table, const std::string &key, std::vector<Field> &values) override;
  Status Delete(const std::string &table, const std::string &key) override;

 private:
  using Body = std::function<int(cellar_txn *)>;
  Status Run(const Body &body);
};

}  // namespace ycsbc
