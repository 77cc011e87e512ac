"""TPC-C in SQL, on tables of cellar.so or, with --plain FILE, on ordinary ones of SQLite: load, run, check, dump.

A program as an application's authors write it: sqlite3, statements, and a transaction that SQLITE_BUSY_SNAPSHOT ends
is begun again. Money is in cents, and a warehouse is as large as --customers and --items say. `check` asks in SQL for
the rows that violate the twelve conditions of clause 3.3.2, one district at a time; files of `run --out` say what the
clients have committed, which the tables must show.
"""
import argparse
import json
import random
import sqlite3
import sys
import threading
import time

DISTRICTS = 10
UNDELIVERED = 0.3  # of the orders that a district has when it is loaded
PAID = 1000  # cents that each customer has paid by then
SNAPSHOT = 517  # SQLITE_BUSY_SNAPSHOT

ADDRESS = "%s_street_1 TEXT(20), %s_street_2 TEXT(20), %s_city TEXT(20), %s_state TEXT(2), %s_zip TEXT(9)"
TABLES = {
    "item": ["i_id INTEGER PRIMARY KEY, i_im_id INTEGER, i_name TEXT(24), i_price INTEGER, i_data TEXT(50)"],
    "warehouse": ["w_id INTEGER PRIMARY KEY, w_name TEXT(10)", ADDRESS.replace("%s", "w"), "w_tax REAL, w_ytd INTEGER"],
    "district": ["d_w_id INTEGER, d_id INTEGER, d_name TEXT(10)", ADDRESS.replace("%s", "d"),
                 "d_tax REAL, d_ytd INTEGER, d_next_o_id INTEGER", "PRIMARY KEY(d_w_id, d_id)"],
    "customer": ["c_w_id INTEGER, c_d_id INTEGER, c_id INTEGER, c_first TEXT(16), c_middle TEXT(2), c_last TEXT(16)",
                 ADDRESS.replace("%s", "c"), "c_phone TEXT(16), c_since INTEGER, c_credit TEXT(2)",
                 "c_credit_lim INTEGER, c_discount REAL, c_balance INTEGER, c_ytd_payment INTEGER",
                 "c_payment_cnt INTEGER, c_delivery_cnt INTEGER, c_data TEXT(500)", "PRIMARY KEY(c_w_id, c_d_id, c_id)",
                 "INDEX(c_w_id, c_d_id, c_last, c_first)"],
    "stock": ["s_w_id INTEGER, s_i_id INTEGER, s_quantity INTEGER",
              ", ".join("s_dist_%02d TEXT(24)" % d for d in range(1, DISTRICTS + 1)),
              "s_ytd INTEGER, s_order_cnt INTEGER, s_remote_cnt INTEGER, s_data TEXT(50)",
              "PRIMARY KEY(s_w_id, s_i_id)"],
    "orders": ["o_w_id INTEGER, o_d_id INTEGER, o_id INTEGER, o_c_id INTEGER, o_entry_d INTEGER, o_carrier_id INTEGER",
               "o_ol_cnt INTEGER, o_all_local INTEGER", "PRIMARY KEY(o_w_id, o_d_id, o_id)",
               "UNIQUE(o_w_id, o_d_id, o_c_id, o_id)"],
    "new_order": ["no_w_id INTEGER, no_d_id INTEGER, no_o_id INTEGER", "PRIMARY KEY(no_w_id, no_d_id, no_o_id)"],
    "order_line": ["ol_w_id INTEGER, ol_d_id INTEGER, ol_o_id INTEGER, ol_number INTEGER, ol_i_id INTEGER",
                   "ol_supply_w_id INTEGER, ol_delivery_d INTEGER, ol_quantity INTEGER, ol_amount INTEGER",
                   "ol_dist_info TEXT(24)", "PRIMARY KEY(ol_w_id, ol_d_id, ol_o_id, ol_number)"],
    "history": ["h_c_w_id INTEGER, h_c_d_id INTEGER, h_c_id INTEGER, h_w_id INTEGER, h_d_id INTEGER, h_date INTEGER",
                "h_amount INTEGER, h_data TEXT(24)", "INDEX(h_w_id, h_d_id)", "INDEX(h_c_w_id, h_c_d_id, h_c_id)"],
}


def connect(args):
    if args.plain:
        return sqlite3.connect(args.plain, isolation_level=None)
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(args.extension)
    for table, columns in TABLES.items():
        db.execute("CREATE VIRTUAL TABLE %s USING cellar(pool='%s', size='%s', rows='%d', %s)"
                   % (table, args.pool, args.size, args.rows, ", ".join(columns)))
    return db


def make_plain(db):
    for table, columns in TABLES.items():
        indexes = [column for column in columns if column.startswith("INDEX")]
        db.execute("CREATE TABLE %s(%s)" % (table, ", ".join(column for column in columns if column not in indexes)))
        for number, index in enumerate(indexes):
            db.execute("CREATE INDEX %s_%d ON %s%s" % (table, number, table, index[len("INDEX"):]))


# ---- what is drawn ----


class Draw(random.Random):
    """Random inputs."""

    def letters(self, low, high):
        return "".join(self.choices("abcdefghijklmnopqrstuvwxyz", k=self.randint(low, high)))

    def digits(self, count):
        return "".join(self.choices("0123456789", k=count))

    def uneven(self, spread, low, high):
        return ((self.randint(0, spread) | self.randint(low, high)) + spread // 3) % (high - low + 1) + low

    def customer(self, args):
        return self.uneven(1023, 1, args.customers)

    def address(self):
        return [self.letters(10, 20), self.letters(10, 20), self.letters(10, 20), self.letters(2, 2),
                self.digits(4) + "11111"]

    def data(self):
        text = self.letters(26, 50)
        return "ORIGINAL".join([text[:9], text[17:]]) if self.random() < 0.1 else text


def last_name(number):
    parts = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"]
    return parts[number // 100 % 10] + parts[number // 10 % 10] + parts[number % 10]


# ---- load ----


def fill(db, table, rows):
    """In transactions of 50 rows: a whole table is more than one may write."""
    rows = list(rows)
    for at in range(0, len(rows), 50):
        db.execute("BEGIN")
        db.executemany("INSERT INTO %s VALUES(%s)" % (table, ", ".join("?" * len(rows[0]))), rows[at:at + 50])
        db.execute("COMMIT")


def load_customers(db, draw, args, w, d):
    fill(db, "customer", ([w, d, c, draw.letters(8, 16), "OE", last_name(c - 1)] + draw.address() +
                          [draw.digits(16), 0, "BC" if draw.random() < 0.1 else "GC", 5000000, draw.random() / 2, -PAID,
                           PAID, 1, 0, draw.letters(300, 500)] for c in range(1, args.customers + 1)))
    fill(db, "history", ([w, d, c, w, d, 0, PAID, draw.letters(12, 24)] for c in range(1, args.customers + 1)))


def load_orders(db, draw, args, w, d):
    customers, orders, lines = list(range(1, args.customers + 1)), [], []
    first_new = args.customers - int(args.customers * UNDELIVERED) + 1
    draw.shuffle(customers)
    for o, c in enumerate(customers, 1):
        count, old = draw.randint(5, 15), o < first_new
        orders.append([w, d, o, c, 0, draw.randint(1, 10) if old else None, count, 1])
        lines += [[w, d, o, n, draw.randint(1, args.items), w, 0 if old else None, 5,
                   0 if old else draw.randint(1, 999999), draw.letters(24, 24)] for n in range(1, count + 1)]
    fill(db, "orders", orders)
    fill(db, "order_line", lines)
    fill(db, "new_order", ([w, d, o] for o in range(first_new, args.customers + 1)))


def load(args):
    db, draw = connect(args), Draw(args.seed)
    if args.plain:
        make_plain(db)
    fill(db, "item", ([i, draw.randint(1, 10000), draw.letters(14, 24), draw.randint(100, 10000), draw.data()]
                      for i in range(1, args.items + 1)))
    for w in range(1, args.warehouses + 1):
        fill(db, "warehouse", [[w, draw.letters(6, 10)] + draw.address() +
                               [draw.random() / 5, DISTRICTS * args.customers * PAID]])
        fill(db, "stock", ([w, i, draw.randint(10, 100)] + [draw.letters(24, 24) for _ in range(DISTRICTS)] +
                           [0, 0, 0, draw.data()] for i in range(1, args.items + 1)))
        fill(db, "district", ([w, d, draw.letters(6, 10)] + draw.address() +
                              [draw.random() / 5, args.customers * PAID, args.customers + 1]
                              for d in range(1, DISTRICTS + 1)))
        for d in range(1, DISTRICTS + 1):
            load_customers(db, draw, args, w, d)
            load_orders(db, draw, args, w, d)


# ---- the five transactions ----


class Undone(Exception):
    """An order with an item that there is not."""


def one(db, sql, *values):
    rows = db.execute(sql, values).fetchall()
    if len(rows) != 1:
        raise AssertionError("%d rows: %s %s" % (len(rows), sql, values))
    return rows[0]


def draw_new_order(draw, args, w):
    lines = [[draw.uneven(8191, 1, args.items), w, draw.randint(1, 10)] for _ in range(draw.randint(5, 15))]
    for line in lines:
        if args.warehouses > 1 and draw.random() < 0.01:
            line[1] = draw.choice([other for other in range(1, args.warehouses + 1) if other != w])
    if draw.random() < 0.01:
        lines[-1][0] = args.items + 1
    return w, draw.randint(1, DISTRICTS), draw.customer(args), lines


def new_order(db, w, d, c, lines):
    find_item = "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?"
    items = [db.execute(find_item, line[:1]).fetchone() for line in lines]
    if None in items:
        raise Undone
    (w_tax,) = one(db, "SELECT w_tax FROM warehouse WHERE w_id = ?", w)
    d_tax, o = one(db, "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", w, d)
    (discount,) = one(db, "SELECT c_discount FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", w, d, c)
    db.execute("UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?", (o + 1, w, d))
    local = all(line[1] == w for line in lines)
    db.execute("INSERT INTO orders VALUES(?, ?, ?, ?, ?, NULL, ?, ?)", (w, d, o, c, o, len(lines), int(local)))
    db.execute("INSERT INTO new_order VALUES(?, ?, ?)", (w, d, o))
    total = 0
    for number, ((i, supplier, quantity), (price, _, _)) in enumerate(zip(lines, items), 1):
        left, ytd, orders, remote, info = one(
            db, "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_dist_%02d FROM stock"
            " WHERE s_w_id = ? AND s_i_id = ?" % d, supplier, i)
        left = left - quantity if left >= quantity + 10 else left - quantity + 91
        db.execute("UPDATE stock SET s_quantity = ?, s_ytd = ?, s_order_cnt = ?, s_remote_cnt = ?"
                   " WHERE s_w_id = ? AND s_i_id = ?",
                   (left, ytd + quantity, orders + 1, remote + (supplier != w), supplier, i))
        db.execute("INSERT INTO order_line VALUES(?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
                   (w, d, o, number, i, supplier, quantity, quantity * price, info))
        total += quantity * price
    return total * (1 - discount) * (1 + w_tax + d_tax)


def draw_payment(draw, args, w):
    d = draw.randint(1, DISTRICTS)
    c_w, c_d = w, d
    if args.warehouses > 1 and draw.random() < 0.15:
        c_w = draw.choice([other for other in range(1, args.warehouses + 1) if other != w])
        c_d = draw.randint(1, DISTRICTS)
    return w, d, c_w, c_d, draw_customer(draw, args), draw.randint(100, 500000)


def draw_customer(draw, args):
    if draw.random() < 0.6:
        return last_name(draw.uneven(255, 0, args.customers - 1))
    return draw.customer(args)


def customer_of(db, w, d, who):
    """By number, or the middle one of those of a last name, by first name."""
    columns = "SELECT c_id, c_balance, c_credit, c_data FROM customer WHERE c_w_id = ? AND c_d_id = ?"
    if isinstance(who, int):
        return one(db, columns + " AND c_id = ?", w, d, who)
    rows = db.execute(columns + " AND c_last = ? ORDER BY c_first", (w, d, who)).fetchall()
    return rows[(len(rows) - 1) // 2]


def payment(db, w, d, c_w, c_d, who, cents):
    c, _, credit, data = customer_of(db, c_w, c_d, who)
    (w_name,) = one(db, "SELECT w_name FROM warehouse WHERE w_id = ?", w)
    (d_name,) = one(db, "SELECT d_name FROM district WHERE d_w_id = ? AND d_id = ?", w, d)
    db.execute("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", (cents, w))
    db.execute("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", (cents, w, d))
    db.execute("UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?,"
               " c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
               (cents, cents, c_w, c_d, c))
    if credit == "BC":
        data = ("%d %d %d %d %d %d|" % (c, c_d, c_w, d, w, cents) + data)[:500]
        db.execute("UPDATE customer SET c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", (data, c_w, c_d, c))
    db.execute("INSERT INTO history VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
               (c_w, c_d, c, w, d, 1, cents, w_name + "    " + d_name))


def draw_order_status(draw, args, w):
    return w, draw.randint(1, DISTRICTS), draw_customer(draw, args)


def order_status(db, w, d, who):
    c = customer_of(db, w, d, who)[0]
    o, _, _ = db.execute("SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = ? AND o_d_id = ?"
                         " AND o_c_id = ? ORDER BY o_id DESC LIMIT 1", (w, d, c)).fetchone()
    return db.execute("SELECT ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line"
                      " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", (w, d, o)).fetchall()


def draw_delivery(draw, args, w):
    return w, draw.randint(1, 10)


def delivery(db, w, carrier):
    delivered = 0
    for d in range(1, DISTRICTS + 1):
        oldest = db.execute("SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1",
                            (w, d)).fetchone()
        if oldest is None:
            continue
        at = (w, d, oldest[0])
        db.execute("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", at)
        (c,) = one(db, "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", *at)
        db.execute("UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", (carrier,) + at)
        lines = " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?"
        db.execute("UPDATE order_line SET ol_delivery_d = 1" + lines, at)
        (cents,) = one(db, "SELECT sum(ol_amount) FROM order_line" + lines, *at)
        db.execute("UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1"
                   " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", (cents, w, d, c))
        delivered += 1
    return delivered


def draw_stock_level(draw, args, w):
    return w, draw.randint(1, DISTRICTS), draw.randint(10, 20)


def stock_level(db, w, d, threshold):
    (next_o,) = one(db, "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", w, d)
    return one(db, "SELECT count(DISTINCT ol_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id"
               " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?",
               w, d, next_o - 20, next_o, threshold)[0]


MIX = [(new_order, draw_new_order, 45), (payment, draw_payment, 43), (order_status, draw_order_status, 4),
       (delivery, draw_delivery, 4), (stock_level, draw_stock_level, 4)]


# ---- clients ----


def attempt(db, function, values):
    """Runs it as one transaction. None: another one came between, and it had no effect."""
    try:
        db.execute("BEGIN")
        result = function(db, *values)
        db.execute("COMMIT")
        return (result,)
    except Undone:
        db.execute("ROLLBACK")
        return ()
    except sqlite3.OperationalError as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if getattr(error, "sqlite_errorcode", SNAPSHOT if "another" in str(error) else 0) != SNAPSHOT:
            raise
        return None


def client(args, number, counts):
    db, draw = connect(args), Draw(args.seed * 1000 + number)
    w = (number - 1) % args.warehouses + 1
    for _ in range(args.transactions):
        function, inputs, _ = draw.choices(MIX, [share for _, _, share in MIX])[0]
        values, tries = inputs(draw, args, w), 1
        while (done := attempt(db, function, values)) is None:
            time.sleep(random.random() * 0.001 * min(tries, 50))
            tries += 1
        if done:
            counts[function.__name__] = counts.get(function.__name__, 0) + 1
        if done and function is delivery:
            counts["delivered"] = counts.get("delivered", 0) + done[0]
        counts["again"] = counts.get("again", 0) + tries - 1
    db.close()
    counts["ended"] = 1


def run(args):
    counts = [{} for _ in range(args.clients)]
    threads = [threading.Thread(target=client, args=(args, args.first + i, counts[i])) for i in range(args.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not all(one.get("ended") for one in counts):
        sys.exit("a client has failed")
    total = {key: sum(one.get(key, 0) for one in counts) for key in set().union(*counts)}
    with open(args.out, "w") as out:
        json.dump(total, out, sort_keys=True)
    print(json.dumps(total, sort_keys=True))


# ---- the twelve conditions: each statement gives the rows that violate one ----

OF_ORDER = "ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
PAID_LINES = ("coalesce((SELECT sum(ol_amount) FROM orders JOIN order_line ON " + OF_ORDER + " WHERE o_w_id = c_w_id"
              " AND o_d_id = c_d_id AND o_c_id = c_id AND ol_delivery_d IS NOT NULL), 0)")
ORDERS = "FROM orders WHERE o_w_id = :w AND o_d_id = :d"
NEW_ORDERS = "FROM new_order WHERE no_w_id = :w AND no_d_id = :d"
LINES = "FROM order_line WHERE ol_w_id = :w AND ol_d_id = :d"
DISTRICT = "SELECT d_w_id, d_id FROM district WHERE d_w_id = :w AND d_id = :d AND "
CUSTOMERS = "SELECT c_w_id, c_d_id, c_id FROM customer WHERE c_w_id = :w AND c_d_id = :d AND "
CONDITIONS = [
    (1, "SELECT w_id FROM warehouse WHERE w_id = :w AND w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = :w)"),
    (2, DISTRICT + "d_next_o_id - 1 <> (SELECT max(o_id) " + ORDERS + ")"),
    (2, DISTRICT + "d_next_o_id - 1 <> (SELECT max(no_o_id) " + NEW_ORDERS + ")"),
    (3, "SELECT no_w_id, no_d_id " + NEW_ORDERS + " GROUP BY no_w_id, no_d_id"
        " HAVING count(*) <> max(no_o_id) - min(no_o_id) + 1"),
    (4, DISTRICT + "(SELECT sum(o_ol_cnt) " + ORDERS + ") <> (SELECT count(*) " + LINES + ")"),
    (5, "SELECT o_w_id, o_d_id, o_id FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id"
        " AND no_o_id = o_id WHERE o_w_id = :w AND o_d_id = :d AND (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)"),
    (5, "SELECT no_o_id " + NEW_ORDERS + " AND NOT EXISTS (SELECT 1 " + ORDERS + " AND o_id = no_o_id)"),
    (6, "SELECT o_w_id, o_d_id, o_id FROM orders LEFT JOIN order_line ON " + OF_ORDER +
        " WHERE o_w_id = :w AND o_d_id = :d GROUP BY o_id HAVING count(ol_number) <> max(o_ol_cnt)"),
    (6, "SELECT ol_o_id " + LINES + " AND NOT EXISTS (SELECT 1 " + ORDERS + " AND o_id = ol_o_id)"),
    (7, "SELECT o_w_id, o_d_id, o_id FROM orders JOIN order_line ON " + OF_ORDER +
        " WHERE o_w_id = :w AND o_d_id = :d AND (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)"),
    (8, "SELECT w_id FROM warehouse WHERE w_id = :w"
        " AND w_ytd <> (SELECT sum(h_amount) FROM history WHERE h_w_id = :w)"),
    (9, DISTRICT + "d_ytd <> (SELECT sum(h_amount) FROM history WHERE h_w_id = :w AND h_d_id = :d)"),
    (10, CUSTOMERS + "c_balance <> " + PAID_LINES + " - (SELECT sum(h_amount) FROM history"
         " WHERE h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id)"),
    (11, DISTRICT + "(SELECT count(*) " + ORDERS + ") - (SELECT count(*) " + NEW_ORDERS + ") <>"
         " coalesce((SELECT min(no_o_id) " + NEW_ORDERS + "), d_next_o_id) - 1"),
    (12, CUSTOMERS + "c_balance + c_ytd_payment <> " + PAID_LINES),
]


def check(args):
    db, bad = connect(args), 0
    places = [{"w": w, "d": d} for w in range(1, args.warehouses + 1) for d in range(1, DISTRICTS + 1)]
    for number, sql in CONDITIONS:
        violated = [row for place in places if ":d" in sql or place["d"] == 1 for row in db.execute(sql, place)]
        bad += bool(violated)
        print("3.3.2.%d %s" % (number, "VIOLATED at %s" % (violated[:3],) if violated else "holds"))
    if args.counts:
        bad += not committed_show(db, args, places)
    sys.exit(1 if bad else 0)


def committed_show(db, args, places):
    """Orders, payments and deliveries, as many as the clients have been told of."""
    total, files = {}, [json.load(open(name)) for name in args.counts]
    for counts in files:
        for key, count in counts.items():
            total[key] = total.get(key, 0) + count
    loaded = args.customers * DISTRICTS * args.warehouses
    undelivered = int(args.customers * UNDELIVERED) * DISTRICTS * args.warehouses
    orders, new, paid = (sum(one(db, "SELECT count(*) FROM %s WHERE %s_w_id = :w AND %s_d_id = :d"
                                 % (table, prefix, prefix), *place.values())[0] for place in places)
                         for table, prefix in (("orders", "o"), ("new_order", "no"), ("history", "h")))
    seen = [orders - loaded, paid - loaded, orders - new - (loaded - undelivered)]
    told = [total.get(key, 0) for key in ("new_order", "payment", "delivered")]
    print("orders, payments, deliveries: the tables have %s, the clients were told of %s" % (seen, told))
    return seen == told


def ranges_of(args, table):
    """Conditions that name each row of a table once, none of them more rows than a transaction may read."""
    first, second = [part.split()[0] for part in ", ".join(TABLES[table]).split(", ")[:2]]
    warehouses, hundreds = range(1, args.warehouses + 1), range(0, args.items + 1, 100)
    if table == "item":
        return ["i_id BETWEEN %d AND %d" % (low, low + 99) for low in hundreds]
    if table == "warehouse":
        return ["w_id = %d" % w for w in warehouses]
    if table == "stock":
        return ["s_w_id = %d AND s_i_id BETWEEN %d AND %d" % (w, low, low + 99) for w in warehouses for low in hundreds]
    return ["%s = %d AND %s = %d" % (first, w, second, d) for w in warehouses for d in range(1, DISTRICTS + 1)]


def dump(args):
    """All rows, sorted: what two engines give for the same transactions can be compared."""
    db = connect(args)
    for table in TABLES:
        print(table, one(db, "SELECT count(*) FROM " + table)[0])
        for condition in ranges_of(args, table):
            for row in sorted(db.execute("SELECT * FROM %s WHERE %s" % (table, condition)), key=repr):
                print(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["load", "run", "check", "dump"])
    parser.add_argument("--extension", help="cellar.so, without .so")
    parser.add_argument("--pool", default="tpcc.pool")
    parser.add_argument("--plain", help="ordinary tables, in this file")
    parser.add_argument("--size", default="128M", help="of the pool")
    parser.add_argument("--rows", type=int, default=20000, help="that a table is laid out for")
    parser.add_argument("--warehouses", type=int, default=1)
    parser.add_argument("--customers", type=int, default=20, help="of a district (of the specification: 3000)")
    parser.add_argument("--items", type=int, default=100, help="(of the specification: 100000)")
    parser.add_argument("--clients", type=int, default=2, help="of this process: a thread and a connection each")
    parser.add_argument("--first", type=int, default=1, help="number of the first of them, among all processes'")
    parser.add_argument("--transactions", type=int, default=100, help="of each client")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="counts.json", help="what `run` has committed")
    parser.add_argument("--counts", nargs="+", help="what `run` has committed, for `check`")
    args = parser.parse_args()
    {"load": load, "run": run, "check": check, "dump": dump}[args.command](args)


main()
