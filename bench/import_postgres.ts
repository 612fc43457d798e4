import postgres from "postgres";

const rowsPerStatement = 500;

/** Inserts rows in one transaction, 500 rows per prepared statement. Returns the milliseconds. */
export async function manyRowsByPostgres(
  url: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<number> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const startedAt = performance.now();
  await sql.begin(async (transaction) => {
    for (let at = 0; at < rows.length; at += rowsPerStatement) {
      const some = rows.slice(at, at + rowsPerStatement);
      const values: unknown[] = [];
      const places = some.map(({ id, title, body, done, size, createdOn }) => {
        const first = values.push(id, title, body, done, size, createdOn) - 5;
        return `($${first}, $${first + 1}, $${first + 2}, $${first + 3}, $${first + 4}, $${
          first + 5
        })`;
      });
      await transaction.unsafe(`INSERT INTO notes VALUES ${places.join()}`, values as never[], {
        prepare: true,
      });
    }
  });
  const ms = performance.now() - startedAt;
  await sql.end();
  return ms;
}
