/**
 * Functions for Drizzle tables and databases, which `resource()` and `createApp()` accept directly.
 *
 * @module
 */
export { drizzleRelations } from "../src/resource/define/drizzle/drizzle_relations.ts";
export type {
  DrizzleRelations,
  RelationNaming,
} from "../src/resource/define/drizzle/drizzle_relation_types.ts";
export { nameColumns } from "../src/schema/drizzle/name_columns.ts";
export type { DrizzleDatabase } from "../src/db/drizzle/drizzle_database.ts";
