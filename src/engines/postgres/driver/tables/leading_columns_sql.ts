/** A query for the first columns of Postgres indexes. A NULL schema is the default schema. */
export const leadingColumnsSql = `
  SELECT CASE WHEN n.nspname = current_schema THEN NULL ELSE n.nspname END, t.relname, c.attname
  FROM pg_index AS i
  JOIN pg_class AS t ON t.oid = i.indrelid
  JOIN pg_namespace AS n ON n.oid = t.relnamespace
  JOIN pg_attribute AS c ON c.attrelid = t.oid AND c.attnum = i.indkey[0]
  WHERE i.indisvalid AND i.indpred IS NULL`;
