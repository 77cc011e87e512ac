// run.cc - the core workloads A to F over a binding, without YCSB-cpp: one thread against a std::map that does the
// same, then several threads, whose work must add up. Prints a line for each; exit 1 when something differs.
#include "core/db_factory.h"

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <thread>

using ycsbc::DB;
using Model = std::map<std::string, std::map<std::string, std::string>>;

static const int kRecords = 300, kOperations = 1500, kThreads = 4, kFields = 10, kFieldBytes = 40;
static std::atomic<int> failures{0};

static void Expect(bool good, const std::string &what) {
  if (good) return;
  std::printf("differs: %s\n", what.c_str());
  failures++;
}

struct Mix {
  char name;
  int read, update, scan, insert;  // of 100; the rest: read, modify, write
};
static const Mix kMixes[] = {{'A', 50, 50, 0, 0}, {'B', 95, 5, 0, 0},  {'C', 100, 0, 0, 0},
                             {'D', 95, 0, 0, 5},  {'E', 0, 0, 95, 5}, {'F', 50, 0, 0, 0}};

struct Client {
  std::unique_ptr<DB> db;
  std::mt19937_64 random;
  ycsbc::utils::Properties props;
  Model model;
  int inserted = kRecords;

  explicit Client(uint64_t seed) : db(ycsbc::DBFactory::CreateDB("cellar")), random(seed) {
    props.SetProperty("recordcount", std::to_string(8 * kRecords * kThreads));
    props.SetProperty("fieldcount", std::to_string(kFields));
    props.SetProperty("fieldlength", std::to_string(kFieldBytes));
    props.SetProperty("threadcount", std::to_string(kThreads));
    props.SetProperty("cellar.pool_bytes", "67108864");
    db->SetProps(&props);
  }

  std::string Value() {
    std::string value(random() % (kFieldBytes + 1), 'a');
    for (char &c : value) c = (char)(random() % 256);
    return value;
  }
  std::vector<DB::Field> Row(int fields) {
    std::vector<DB::Field> row;
    for (int i = 0; i < fields; i++) row.push_back({"field" + std::to_string(i), Value()});
    return row;
  }
  void Remember(const std::string &key, const std::vector<DB::Field> &row) {
    for (auto &[name, value] : row) model[key][name] = value;
  }
  static bool Same(const std::vector<DB::Field> &row, const std::map<std::string, std::string> &wanted) {
    bool same = row.size() == wanted.size();
    for (auto &[name, value] : row) same = same && wanted.count(name) && wanted.at(name) == value;
    return same;
  }
  std::string Some(const std::string &prefix) { return prefix + std::to_string(random() % (uint64_t)inserted); }

  void Insert(const std::string &key) {
    auto row = Row(kFields);
    Expect(db->Insert("usertable", key, row) == DB::kOK, "insert " + key);
    Remember(key, row);
  }
  void Update(const std::string &key) {
    auto row = Row(1 + (int)(random() % kFields));
    Expect(db->Update("usertable", key, row) == DB::kOK, "update " + key);
    Remember(key, row);
  }
  void Read(const std::string &key) {
    std::vector<DB::Field> row, one;
    const std::vector<std::string> names = {"field" + std::to_string(random() % kFields)};
    Expect(db->Read("usertable", key, nullptr, row) == DB::kOK && Same(row, model[key]), "read " + key);
    Expect(db->Read("usertable", key, &names, one) == DB::kOK && one.size() == 1, "one field of " + key);
    for (auto &[name, value] : one) Expect(model[key][name] == value, "that field of " + key);
  }
  // alone: nobody else has rows behind this one's
  void Scan(const std::string &key, bool alone) {
    std::vector<std::vector<DB::Field>> rows;
    int wanted = 1 + (int)(random() % 50);
    Expect(db->Scan("usertable", key, wanted, nullptr, rows) == DB::kOK, "scan from " + key);
    auto at = model.lower_bound(key);
    for (size_t i = 0; alone && i < rows.size(); i++, ++at)
      Expect(at != model.end() && Same(rows[i], at->second), "row " + std::to_string(i) + " from " + key);
    if (alone) Expect((int)rows.size() == wanted || at == model.end(), "too few rows from " + key);
    if (!rows.empty()) Expect(Same(rows[0], model[key]), "the first row from " + key);
  }

  void Load(const std::string &prefix) {
    for (int i = 0; i < kRecords; i++) Insert(prefix + std::to_string(i));
  }
  void Run(const Mix &mix, const std::string &prefix, bool alone) {
    for (int i = 0; i < kOperations; i++) {
      int draw = (int)(random() % 100);
      std::string key = Some(prefix);
      if ((draw -= mix.read) < 0)
        Read(key);
      else if ((draw -= mix.update) < 0)
        Update(key);
      else if ((draw -= mix.scan) < 0)
        Scan(key, alone);
      else if ((draw -= mix.insert) < 0)
        Insert(prefix + std::to_string(inserted++));
      else
        Read(key), Update(key);
    }
    for (auto &[key, row] : model) {
      std::vector<DB::Field> found;
      Expect(db->Read("usertable", key, nullptr, found) == DB::kOK && Same(found, row), "at the end, " + key);
    }
  }
  void Refusals() {
    std::vector<DB::Field> row, other = {{"field99", "x"}}, wide = {{"field0", std::string(kFieldBytes + 1, 'x')}};
    std::vector<std::vector<DB::Field>> rows;
    std::string there = model.begin()->first;
    auto again = Row(kFields);
    Expect(db->Read("usertable", "nobody", nullptr, row) == DB::kNotFound, "a key that is not there, read");
    Expect(db->Update("usertable", "nobody", again) == DB::kNotFound, "a key that is not there, updated");
    Expect(db->Delete("usertable", "nobody") == DB::kNotFound, "a key that is not there, deleted");
    Expect(db->Insert("usertable", there, again) == DB::kError, "a key that is there, inserted");
    Expect(db->Update("usertable", there, other) == DB::kError, "an unknown field");
    Expect(db->Update("usertable", there, wide) == DB::kError, "a value that is too long");
    Expect(db->Insert("usertable", std::string(100, 'k'), again) == DB::kError, "a key that is too long");
    Expect(db->Scan("usertable", there, 0, nullptr, rows) == DB::kError, "a scan of nothing");
    Expect(db->Delete("usertable", there) == DB::kOK, "delete");
    Expect(db->Read("usertable", there, nullptr, row) == DB::kNotFound, "what was deleted");
  }
};

int main() {
  for (const Mix &mix : kMixes) {
    Client alone((uint64_t)mix.name);
    alone.db->Init();
    alone.Load("user");
    alone.Run(mix, "user", true);
    alone.Refusals();
    alone.db->Cleanup();

    std::vector<std::thread> threads;
    Client keeper(1);
    keeper.db->Init();  // keeps it open
    // As YCSB-cpp does it: what loads on one thread runs on another one.
    std::vector<std::unique_ptr<Client>> clients;
    auto prefix = [](int i) { return "user" + std::to_string(i) + "-"; };
    for (int i = 0; i < kThreads; i++) clients.push_back(std::make_unique<Client>((uint64_t)(100 + i)));
    for (int i = 0; i < kThreads; i++)
      threads.emplace_back([&, i] {
        clients[i]->db->Init();
        clients[i]->Load(prefix(i));
      });
    for (std::thread &thread : threads) thread.join();
    threads.clear();
    for (int i = 0; i < kThreads; i++)
      threads.emplace_back([&, i] {
        clients[kThreads - 1 - i]->Run(mix, prefix(kThreads - 1 - i), false);
        clients[kThreads - 1 - i]->db->Cleanup();
      });
    for (std::thread &thread : threads) thread.join();
    keeper.db->Cleanup();
    std::printf("%c: %d operations alone, %d by %d threads\n", mix.name, kOperations, kThreads * kOperations, kThreads);
  }
  std::printf(failures ? "%d differences\n" : "all as a map does it\n", failures.load());
  return failures ? 1 : 0;
}
