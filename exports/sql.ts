/**
 * Fragments of SQL, and the dialect in which a driver's engine differs from others.
 *
 * @module
 */
export { Fragment, sql, type SqlValue, type Statement } from "../src/sql/fragment.ts";
export type {
  CellClass,
  CertifiedOperators,
  ComparesAsMemory,
  Dialect,
  Engine,
  ImageDialect,
  ListNames,
  MetricDialect,
  RowEstimate,
  RowImages,
  RowsOfKeys,
  TextDialect,
} from "../src/sql/dialect.ts";
