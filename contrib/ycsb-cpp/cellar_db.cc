#include "cellar_db.h"

#include "core/db_factory.h"

#include <mutex>
#include <stdexcept>
#include <unordered_map>

namespace ycsbc {
namespace {

constexpr uint32_t kKeyBytes = 32;  // "user" and 20 digits, with room
constexpr uint64_t kKey = CELLAR_COL(0);

// What all client threads share: open while one of them is.
struct Shared {
  std::mutex mutex;
  int users = 0;
  cellar *db = nullptr;
  const cellar_table *table = nullptr;
  std::vector<std::string> fields;
  std::unordered_map<std::string, uint32_t> columns;  // their numbers
  size_t width() const { return 1 + fields.size(); }
  size_t row_bytes() const { return width() * sizeof(cellar_bytes); }
};

Shared &shared() {
  static Shared one;
  return one;
}

[[noreturn]] void Fail(const std::string &what) {
  throw std::runtime_error("cellar: " + what + ": " + cellar_last_error()->text);
}

cellar_bytes Bytes(const std::string &of) { return {of.data(), of.size()}; }

// A row: the key, and the fields.
using Row = std::vector<cellar_bytes>;
Row RowOf(const std::string &key) {
  Row row(shared().width());
  row[0] = Bytes(key);
  return row;
}

cellar_column Column(const char *name, uint32_t number, uint32_t flags, uint32_t bytes_max) {
  return {name, number * (uint32_t)sizeof(cellar_bytes), sizeof(cellar_bytes), CELLAR_BYTES, flags, bytes_max, 0};
}

void OpenTable(Shared &all, uint32_t field_count, uint32_t field_bytes, uint64_t records) {
  std::vector<cellar_column> columns = {Column("key", 0, CELLAR_KEY, kKeyBytes)};
  all.fields.clear();
  all.columns.clear();
  for (uint32_t i = 0; i < field_count; i++) all.fields.push_back("field" + std::to_string(i));
  for (const std::string &field : all.fields) {
    all.columns[field] = (uint32_t)columns.size();
    columns.push_back(Column(field.c_str(), (uint32_t)columns.size(), 0, field_bytes));
  }
  cellar_table_def def = {};
  def.size = sizeof def;
  def.row_bytes = (uint32_t)all.row_bytes();
  def.name = "usertable";
  def.columns = columns.data();
  def.column_count = (uint32_t)columns.size();
  def.rows = records * 2;
  def.flags = CELLAR_ORDERED;
  if (cellar_table_open(all.db, &def, 0, &all.table)) Fail("usertable");
}

void Open(Shared &all, const utils::Properties &props) {
  cellar_options options = {};
  cellar_cluster cluster = {};
  cellar_lab lab = {};
  const std::string pool = props.GetProperty("cellar.pool", ""), nodes = props.GetProperty("cellar.memnodes", "");
  const uint64_t records = std::stoull(props.GetProperty("cellar.records", props.GetProperty("recordcount", "100000")));
  cluster.size = sizeof cluster;
  cluster.memnodes = nodes.c_str();
  cluster.node = (uint32_t)std::stoul(props.GetProperty("cellar.cn", "0"));
  lab.size = sizeof lab;
  lab.log_bytes = 1 << 20;
  options.size = sizeof options;
  options.bytes = nodes.empty() ? std::stoull(props.GetProperty("cellar.pool_bytes", "1073741824")) : 0;
  options.durability = props.GetProperty("cellar.durable", "false") == "true" ? CELLAR_DURABLE : CELLAR_MEMORY;
  options.txns_max = 2 * (uint32_t)std::stoul(props.GetProperty("threadcount", "1")) + 1;  // while threads change
  options.cluster = nodes.empty() ? nullptr : &cluster;
  options.lab = &lab;
  if (cellar_open(pool.empty() ? nullptr : pool.c_str(), &options, &all.db)) Fail("opening");
  OpenTable(all, (uint32_t)std::stoul(props.GetProperty("fieldcount", "10")),
            (uint32_t)std::stoul(props.GetProperty("fieldlength", "100")), records);
}

// Sets the columns of these fields in the row, and their numbers in `columns`. False: there is no such field.
bool Set(Row &row, const std::vector<DB::Field> &values, uint64_t &columns) {
  for (auto &[name, value] : values) {
    auto column = shared().columns.find(name);
    if (column == shared().columns.end()) return false;
    row[column->second] = Bytes(value);
    columns |= CELLAR_COL(column->second);
  }
  return true;
}

// What is read: all fields, or some.
struct Wanted {
  const std::vector<std::string> &names;
  std::vector<uint32_t> numbers;
  uint64_t columns = kKey;
  bool known = true;

  explicit Wanted(const std::vector<std::string> *fields) : names(fields ? *fields : shared().fields) {
    for (const std::string &name : names) {
      auto column = shared().columns.find(name);
      known = known && column != shared().columns.end();
      if (!known) return;
      numbers.push_back(column->second);
      columns |= CELLAR_COL(column->second);
    }
  }
  void Give(const cellar_bytes *row, std::vector<DB::Field> &result) const {
    result.clear();
    for (size_t i = 0; i < names.size(); i++) {
      const cellar_bytes &field = row[numbers[i]];
      result.push_back({names[i], std::string(static_cast<const char *>(field.data), field.bytes)});
    }
  }
};

}  // namespace

void CellarDB::Init() {
  Shared &all = shared();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (all.users == 0) Open(all, *props_);
  all.users++;
}

void CellarDB::Cleanup() {
  Shared &all = shared();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (--all.users > 0) return;
  cellar_close(all.db);
  all.db = nullptr;
}

// Until it commits. The body may run several times.
DB::Status CellarDB::Run(const Body &body) {
  auto call = [](cellar_txn *txn, void *arg) { return (*static_cast<const Body *>(arg))(txn); };
  int code = cellar_run(shared().db, call, const_cast<Body *>(&body), nullptr, nullptr);
  return code == 0 ? kOK : code == CELLAR_NOT_FOUND ? kNotFound : kError;
}

DB::Status CellarDB::Read(const std::string &, const std::string &key, const std::vector<std::string> *fields,
                          std::vector<Field> &result) {
  const Wanted wanted(fields);
  Row row = RowOf(key);
  if (!wanted.known) return kError;
  return Run([&](cellar_txn *txn) {
    int code = (cellar_get)(txn, shared().table, wanted.columns, 0, row.data(), shared().row_bytes());
    if (code == 0) wanted.Give(row.data(), result);
    return code;
  });
}

DB::Status CellarDB::Scan(const std::string &, const std::string &key, int record_count,
                          const std::vector<std::string> *fields, std::vector<std::vector<Field>> &result) {
  const Shared &all = shared();
  const Wanted wanted(fields);
  const Row low = RowOf(key);
  if (!wanted.known || record_count < 1) return kError;
  Row rows((size_t)record_count * all.width());
  cellar_scan scan = {};
  scan.size = sizeof scan;
  scan.table = all.table;
  scan.from = low.data();
  scan.from_columns = 1;
  scan.columns = wanted.columns;
  scan.row_bytes = (uint32_t)all.row_bytes();
  return Run([&](cellar_txn *txn) {
    cellar_cursor *cursor;
    int code = cellar_cursor_open(txn, &scan, &cursor);
    int found = code ? code : (cellar_cursor_next)(cursor, (uint32_t)record_count, rows.data(), all.row_bytes());
    result.resize(found < 0 ? 0 : (size_t)found);
    for (size_t i = 0; i < result.size(); i++) wanted.Give(&rows[i * all.width()], result[i]);
    return found < 0 ? found : 0;
  });
}

// A put of all fields would make the row, and a delete does not mind that there is none: both ask first.
DB::Status CellarDB::Update(const std::string &, const std::string &key, std::vector<Field> &values) {
  Row row = RowOf(key);
  uint64_t columns = kKey;
  if (!Set(row, values, columns)) return kError;
  return Run([&](cellar_txn *txn) {
    int code = (cellar_get)(txn, shared().table, kKey, 0, row.data(), shared().row_bytes());
    return code ? code : (cellar_put)(txn, shared().table, columns, row.data(), shared().row_bytes());
  });
}

DB::Status CellarDB::Insert(const std::string &, const std::string &key, std::vector<Field> &values) {
  Row row = RowOf(key);
  uint64_t columns = kKey;
  if (!Set(row, values, columns)) return kError;
  return Run([&](cellar_txn *txn) {
    return (cellar_insert)(txn, shared().table, row.data(), shared().row_bytes());
  });
}

DB::Status CellarDB::Delete(const std::string &, const std::string &key) {
  Row row = RowOf(key);
  return Run([&](cellar_txn *txn) {
    int code = (cellar_get)(txn, shared().table, kKey, 0, row.data(), shared().row_bytes());
    return code ? code : (cellar_delete)(txn, shared().table, row.data(), shared().row_bytes());
  });
}

static DB *NewCellarDB() { return new CellarDB; }
const bool registered = DBFactory::RegisterDB("cellar", NewCellarDB);

}  // namespace ycsbc
