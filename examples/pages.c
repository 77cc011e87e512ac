/*
 * pages.c - rows in the order of a secondary index, page by page, each page in a transaction of its own.
 *
 *     cc -O2 pages.c $(pkg-config --cflags --libs cellar) -pthread -o pages && ./pages
 *
 * A few authors have many books: nearly all entries of the index are equal to others in its columns. The next page
 * goes on behind the last row of the page before (`.after`), by the index's columns and the key. So no row comes twice,
 * and none is missed, although no transaction is open between two pages, and the row itself may be deleted meanwhile.
 */
#include <cellar.h>

#include <stdio.h>
#include <stdlib.h>

enum { BOOKS = 500, AUTHORS = 3, PAGE = 20 };

/* The author is an array: a page outlives its transaction, and a cellar_bytes would be lent until its end alone. */
struct book {
    uint32_t id;
    uint16_t year;
    char author[24];
};
enum { ID, YEAR, AUTHOR };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct book, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct book, year)},
                                               {CELLAR_FIELD(struct book, author)}};
static const struct cellar_index_def indexes[] = {{.name = "by_author", .columns = "author, -year"}};
static const char *const authors[AUTHORS] = {"Austen", "Borges", "Calvino"};

struct library {
    struct cellar *db;
    const struct cellar_table *books;
    const struct cellar_index *by_author;
};

static void check(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s\n", what, cellar_last_error()->text);
    exit(1);
}

static void want(bool fact, const char *what)
{
    if (fact) return;
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
}

static int fill(struct cellar_txn *txn, void *arg)
{
    const struct library *library = arg;
    int rc = 0;
    for (uint32_t id = 0; id < BOOKS && rc == 0; id++) {
        struct book book = {.id = id, .year = (uint16_t)(1990 + id % 7)};
        snprintf(book.author, sizeof book.author, "%s", authors[id % AUTHORS]);
        rc = cellar_insert(txn, library->books, &book);
    }
    return rc;
}

/* The page of that scan: how many rows it has. */
static int page_read(const struct library *library, const struct cellar_scan *scan, struct book *page)
{
    struct cellar_txn *txn;
    struct cellar_cursor *cursor;
    check(cellar_begin(library->db, CELLAR_TXN(.flags = CELLAR_READ_ONLY), &txn), "begin");
    check(cellar_cursor_open(txn, scan, &cursor), "opening a cursor");
    int count = cellar_cursor_next(cursor, PAGE, page);
    check(count, "reading a page");
    check(cellar_commit(txn, NULL), "the end of a page");
    return count;
}

struct removal {
    const struct library *library;
    const struct book *book;
};

static int remove_book(struct cellar_txn *txn, void *arg)
{
    const struct removal *removal = arg;
    return cellar_delete(txn, removal->library->books, removal->book);
}

/* How the order of the index compares: authors upward, years downward, then the key. */
static int order(const struct book *a, const struct book *b)
{
    int rc = strcmp(a->author, b->author);
    if (rc == 0) rc = (b->year > a->year) - (b->year < a->year);
    return rc ? rc : (a->id > b->id) - (a->id < b->id);
}

/* All books; the last one of each page is deleted before the next page is read. Returns how many pages there were. */
static int read_all(const struct library *library, int *seen)
{
    struct book page[PAGE], last;
    int pages = 0, count = PAGE;
    for (; count == PAGE; pages++) {
        const struct book *after = pages > 0 ? &last : NULL;
        count = page_read(library,
                          CELLAR_SCAN(struct book, library->books, .index = library->by_author, .after = after), page);
        if (count == 0) break;
        want(pages == 0 || order(&last, &page[0]) < 0, "pages come in the order of the index");
        for (int i = 0; i < count; i++) {
            seen[page[i].id]++;
            want(i == 0 || order(&page[i - 1], &page[i]) < 0, "rows come in the order of the index");
        }
        last = page[count - 1];
        check(cellar_run(library->db, remove_book, &(struct removal){library, &last}, NULL, NULL), "deleting a book");
    }
    return pages;
}

/* One author's books, backward; author, year and id are in the index: no row is read. Returns how many there were. */
static int read_author(const struct library *library, const char *author)
{
    struct book page[PAGE], last, equal = {.id = 0};
    int books = 0, count = PAGE;
    snprintf(equal.author, sizeof equal.author, "%s", author);
    while (count == PAGE) {
        const struct book *after = books > 0 ? &last : NULL;
        count = page_read(library,
                          CELLAR_SCAN(struct book, library->books, .index = library->by_author, .after = after,
                                      .flags = CELLAR_BACKWARD, CELLAR_EQUAL(1, &equal), .columns = CELLAR_COL(YEAR)),
                          page);
        for (int i = 0; i < count; i++) {
            want(strcmp(page[i].author, author) == 0, "rows are the author's");
            want(books == 0 || order(&last, &page[i]) > 0, "rows come backward");
            last = page[i];
            books++;
        }
    }
    return books;
}

int main(void)
{
    static int seen[BOOKS];
    struct library library;
    int left = 0;
    const struct cellar_table_def *def = CELLAR_TABLE(struct book, columns, .name = "books", CELLAR_INDEXES(indexes));
    check(cellar_open(NULL, NULL, &library.db), "open");
    check(cellar_table_open(library.db, def, 0, &library.books), "the table");
    library.by_author = cellar_index_find(library.books, "by_author");
    check(cellar_run(library.db, fill, &library, NULL, NULL), "the books");

    int pages = read_all(&library, seen);
    for (int id = 0; id < BOOKS; id++) want(seen[id] == 1, "each row comes once");
    for (int i = 0; i < AUTHORS; i++) left += read_author(&library, authors[i]);
    want(left == BOOKS - pages, "the others are still there");
    check(cellar_close(library.db), "close");
    printf("%d books in %d pages, each once; %d left\n", BOOKS, pages, left);
    return 0;
}
