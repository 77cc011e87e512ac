#include "cellar_db.h"

#include "core/db_factory.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <stdexcept>

namespace ycsbc {
namespace {

constexpr uint32_t kKeyBytes = 32;  // "user" and 20 digits, with room
struct Key {
  uint16_t bytes, twins;
  uint8_t text[kKeyBytes];
};
constexpr uint32_t kKeyColumn = 0;

// What all client threads share: open while one of them is.
struct Shared {
  std::mutex mutex;
  int users = 0;
  cellar *db = nullptr;
  const cellar_table *table = nullptr;
  const cellar_index *by_key = nullptr;
  uint32_t field_count = 0, field_bytes = 0, row_bytes = 0;
  std::vector<std::string> names;
  std::vector<cellar_schema_column> columns;
};

Shared &shared() {
  static Shared one;
  return one;
}

[[noreturn]] void Fail(const std::string &what) {
  throw std::runtime_error("cellar: " + what + ": " + cellar_last_error()->text);
}

// A field is its length and its bytes; each has a cell of its own as far as cells go.
void Describe(Shared &all, uint32_t field_count, uint32_t field_bytes) {
  all.field_count = field_count;
  all.field_bytes = field_bytes;
  uint32_t slot = (uint32_t)(sizeof(uint16_t) + field_bytes + 1) / 2 * 2;
  all.names = {"key"};
  for (uint32_t i = 0; i < field_count; i++) all.names.push_back("field" + std::to_string(i));
  all.columns = {{all.names[0].c_str(), 0, sizeof(Key), 0}};
  for (uint32_t i = 0; i < field_count; i++)
    all.columns.push_back({all.names[i + 1].c_str(), (uint32_t)sizeof(Key) + i * slot,
                           (uint32_t)sizeof(uint16_t) + field_bytes, (int32_t)(1 + i % (CELLAR_CELLS_MAX - 1))});
  all.row_bytes = (uint32_t)sizeof(Key) + field_count * slot;
}

void Open(Shared &all, const utils::Properties &props) {
  cellar_options options = {};
  cellar_cluster cluster = {};
  cellar_lab lab = {};
  cellar_schema schema = {};
  const std::string pool = props.GetProperty("cellar.pool", ""), nodes = props.GetProperty("cellar.memnodes", "");
  const uint64_t records = std::stoull(props.GetProperty("cellar.records", props.GetProperty("recordcount", "100000")));
  Describe(all, (uint32_t)std::stoul(props.GetProperty("fieldcount", "10")),
           (uint32_t)std::stoul(props.GetProperty("fieldlength", "100")));
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
  schema.name = "usertable";
  schema.row_bytes = all.row_bytes;
  schema.columns = all.columns.data();
  schema.column_count = (uint32_t)all.columns.size();
  schema.records_max = records * 2;
  schema.key_bytes = kKeyBytes;
  const cellar_schema_index_column by[] = {{all.names[0].c_str(), CELLAR_SORT_BYTES, false}};
  cellar_schema_index def = {};
  def.name = "by_key";
  def.columns = by;
  def.column_count = 1;
  if (cellar_table_create(all.db, &schema, &all.table)) Fail("usertable");
  if (cellar_index_create(all.db, all.table, &def, &all.by_key)) Fail("by_key");
}

int KeySet(std::vector<char> &row, const std::string &key) {
  return cellar_key_set(row.data(), sizeof(Key), key.data(), key.size());
}

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

// The column of "fieldN"; -1: there is none.
int CellarDB::FieldColumn(const std::string &name) const {
  int column = cellar_column_of(shared().table, name.c_str());
  return column == (int)kKeyColumn ? -1 : column;
}

bool CellarDB::Encode(int column, const std::string &value, std::vector<char> &bytes) const {
  if (column < 0 || value.size() > shared().field_bytes) return false;
  uint16_t length = (uint16_t)value.size();
  bytes.assign(sizeof length + shared().field_bytes, 0);
  std::memcpy(bytes.data(), &length, sizeof length);
  std::memcpy(bytes.data() + sizeof length, value.data(), length);
  return true;
}

int CellarDB::Fetch(cellar_txn *txn, uint64_t record, const std::vector<std::string> *fields,
                    std::vector<Field> &result) {
  const Shared &all = shared();
  const std::vector<std::string> everything(all.names.begin() + 1, all.names.end());
  const std::vector<std::string> &names = fields ? *fields : everything;
  cellar_cells cells = 0;
  for (const std::string &name : names) cells |= cellar_cells_of(all.table, name.c_str());
  const cellar_txn_read read = {all.table, record, cells};
  std::vector<char> bytes(sizeof(uint16_t) + all.field_bytes);
  int code = cellar_prefetch(txn, &read, 1);
  for (size_t i = 0; i < names.size() && code == 0; i++) {
    uint16_t length;
    int column = FieldColumn(names[i]);
    code = column < 0 ? CELLAR_INVALID : cellar_txn_get(txn, all.table, record, column, bytes.data());
    if (code < 0) break;
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > all.field_bytes) return CELLAR_CORRUPT;
    result.push_back({names[i], std::string(bytes.data() + sizeof length, length)});
  }
  return code;
}

DB::Status CellarDB::Read(const std::string &, const std::string &key, const std::vector<std::string> *fields,
                          std::vector<Field> &result) {
  return Run([&](cellar_txn *txn) {
    uint64_t record;
    result.clear();
    int code = cellar_txn_find(txn, shared().table, key.data(), (uint32_t)key.size(), &record);
    return code < 0 ? code : Fetch(txn, record, fields, result);
  });
}

DB::Status CellarDB::Scan(const std::string &, const std::string &key, int record_count,
                          const std::vector<std::string> *fields, std::vector<std::vector<Field>> &result) {
  const Shared &all = shared();
  std::vector<char> low(all.row_bytes);
  if (record_count < 1 || record_count > CELLAR_TXN_RECORDS_MAX || KeySet(low, key)) return kError;
  cellar_range range = {};
  range.low.row = low.data();
  range.low.columns = 1;
  std::vector<uint64_t> records((size_t)record_count);
  return Run([&](cellar_txn *txn) {
    result.clear();
    int found = cellar_txn_scan(txn, all.by_key, &range, CELLAR_ALL_CELLS, 0, records.data(), records.size());
    int code = found < 0 ? found : 0;
    for (int i = 0; i < found && code == 0; i++) {
      result.emplace_back();
      code = Fetch(txn, records[(size_t)i], fields, result.back());
    }
    return code;
  });
}

DB::Status CellarDB::Update(const std::string &, const std::string &key, std::vector<Field> &values) {
  const Shared &all = shared();
  return Run([&](cellar_txn *txn) {
    uint64_t record;
    std::vector<char> bytes;
    int code = cellar_txn_find(txn, all.table, key.data(), (uint32_t)key.size(), &record);
    for (auto &[name, value] : values) {
      int column = FieldColumn(name);
      if (code == 0 && !Encode(column, value, bytes)) code = CELLAR_INVALID;
      if (code == 0) code = cellar_txn_put(txn, all.table, record, column, bytes.data());
    }
    return code;
  });
}

DB::Status CellarDB::Insert(const std::string &, const std::string &key, std::vector<Field> &values) {
  const Shared &all = shared();
  std::vector<char> row(all.row_bytes), bytes;
  if (KeySet(row, key)) return kError;
  for (auto &[name, value] : values) {
    int column = FieldColumn(name);
    if (!Encode(column, value, bytes)) return kError;
    std::memcpy(row.data() + all.columns[(size_t)column].offset, bytes.data(), bytes.size());
  }
  return Run([&](cellar_txn *txn) {
    uint64_t record;
    return cellar_txn_add(txn, all.table, row.data(), &record);
  });
}

DB::Status CellarDB::Delete(const std::string &, const std::string &key) {
  return Run([&](cellar_txn *txn) {
    uint64_t record;
    int code = cellar_txn_find(txn, shared().table, key.data(), (uint32_t)key.size(), &record);
    return code < 0 ? code : cellar_txn_remove(txn, shared().table, record);
  });
}

static DB *NewCellarDB() { return new CellarDB; }
const bool registered = DBFactory::RegisterDB("cellar", NewCellarDB);

}  // namespace ycsbc
