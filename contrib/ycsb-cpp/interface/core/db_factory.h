// db_factory.h - stands in for YCSB-cpp's: where bindings give their names.
#pragma once

#include "db.h"

#include <map>
#include <string>

namespace ycsbc {

class DBFactory {
 public:
  using DBCreator = DB *(*)();
  static bool RegisterDB(std::string name, DBCreator creator) { return Registry()[name] = creator, true; }
  static DB *CreateDB(const std::string &name) { return Registry().count(name) ? Registry()[name]() : nullptr; }

 private:
  static std::map<std::string, DBCreator> &Registry() {
    static std::map<std::string, DBCreator> registry;
    return registry;
  }
};

}  // namespace ycsbc
