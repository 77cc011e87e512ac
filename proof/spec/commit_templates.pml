/* commit_templates.pml - what the transactions of commit.pml do: access(transaction, number, block, kind, cell). */
inline templates()
{
    if
    :: template == 1 -> /* write skew of two on one CN; the third reads both from the other */
       access(1, 0, 0, R, 0); access(1, 1, 1, W, 2);
       access(2, 0, 0, R, 2); access(2, 1, 1, W, 0);
       access(3, 0, 0, R, 0); access(3, 1, 1, R, 2)
    :: template == 2 -> /* two on one CN change what the third changes from the other */
       access(1, 0, 0, W, 0); access(1, 1, 1, W, 2);
       access(2, 0, 0, W, 0); access(2, 1, 1, R, 2);
       access(3, 0, 0, R, 0); access(3, 1, 1, W, 2)
    :: template == 3 -> /* a chain of three on one record, and each goes on */
       access(1, 0, 0, W, 0); access(1, 1, 1, R, 2);
       access(2, 0, 0, W, 0); access(2, 1, 1, W, 2);
       access(3, 0, 0, W, 0); access(3, 1, 1, R, 2)
    :: template == 4 -> /* each writes first what the other one writes second */
       access(1, 0, 0, W, 0); access(1, 1, 1, W, 2);
       access(2, 0, 0, W, 2); access(2, 1, 1, W, 0);
       access(3, 0, 0, R, 0); access(3, 1, 0, R, 2)
    :: template == 5 -> /* both in one block */
       access(1, 0, 0, W, 0); access(1, 1, 0, W, 2);
       access(2, 0, 0, W, 2); access(2, 1, 0, W, 0);
       access(3, 0, 0, R, 0); access(3, 1, 1, W, 2)
    :: template == 6 -> /* two cells of a record: one that read it later writes its neighbour, and must wait for another record */
       cells_per_record = 2;
       access(1, 0, 0, R, 0); access(1, 1, 1, W, 1); access(1, 2, 1, W, 2);
       access(2, 0, 0, W, 0); access(2, 1, 1, W, 1);
       access(3, 0, 0, W, 2); access(3, 1, 1, R, 0)
    :: template == 7 -> /* insert, delete and look at one key */
       absent_at_first = 1;
       access(1, 0, 0, C, 1); access(1, 1, 0, I, 0);
       access(2, 0, 0, R, 0); access(2, 1, 1, W, 2);
       access(3, 0, 0, R, 2); access(3, 1, 1, R, 0)
    :: template == 8 -> /* delete while others of this CN and the other one use the record */
       access(1, 0, 0, C, 1); access(1, 1, 0, D, 0); access(1, 2, 1, R, 2);
       access(2, 0, 0, W, 0); access(2, 1, 1, W, 2);
       access(3, 0, 0, R, 2); access(3, 1, 1, R, 0)
    :: template == 9 -> /* two insert the same key, one looks */
       absent_at_first = 1;
       access(1, 0, 0, C, 1); access(1, 1, 0, I, 0);
       access(2, 0, 0, C, 1); access(2, 1, 0, I, 0);
       access(3, 0, 0, R, 0); access(3, 1, 1, W, 2)
    :: template == 10 -> /* look at two keys of one bucket's history: absent, then insert */
       absent_at_first = 1;
       access(1, 0, 0, R, 0); access(1, 1, 1, C, 1); access(1, 2, 1, I, 0);
       access(2, 0, 0, R, 0); access(2, 1, 1, W, 2);
       access(3, 0, 0, C, 1); access(3, 1, 0, I, 0); access(3, 2, 0, R, 2)
    :: template == 11 -> /* a deleted record is written from both CNs */
       access(1, 0, 0, C, 1); access(1, 1, 0, D, 0);
       access(2, 0, 0, W, 0); access(2, 1, 0, W, 2);
       access(3, 0, 0, W, 0)
    :: template == 12 -> /* who reads what another one is about to make durable, and writes elsewhere */
       access(1, 0, 0, W, 0);
       access(2, 0, 0, R, 0); access(2, 1, 1, W, 2);
       access(3, 0, 0, R, 2); access(3, 1, 1, W, 0)
    :: template == 13 -> /* the same with two that overwrite each other */
       access(1, 0, 0, W, 0); access(1, 1, 0, W, 2);
       access(2, 0, 0, W, 0); access(2, 1, 1, W, 3);
       access(3, 0, 0, W, 2)
    :: template == 14 -> /* three writers of two records: some leave, and those that stay drain */
       access(1, 0, 0, W, 0); access(1, 1, 1, W, 2);
       access(2, 0, 0, W, 2); access(2, 1, 1, W, 0);
       access(3, 0, 0, W, 0); access(3, 1, 0, W, 2)
    fi
}
