// properties.h - stands in for YCSB-cpp's, with as much of its interface as a binding uses.
#pragma once

#include <map>
#include <string>

namespace ycsbc::utils {

class Properties {
 public:
  std::string GetProperty(const std::string &key, const std::string &usual = std::string()) const {
    auto found = values_.find(key);
    return found == values_.end() ? usual : found->second;
  }
  void SetProperty(const std::string &key, const std::string &value) { values_[key] = value; }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace ycsbc::utils
