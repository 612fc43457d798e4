/**
 * The types of a filter tree, and custom operators for the filter language.
 *
 * @example An operator `name=len=5`, for the option `customOperators` of a resource
 * ```ts
 * import type { CustomOperator } from "@svc/resource-api/filter";
 * import { sql } from "@svc/resource-api/sql";
 *
 * const hasLength: CustomOperator = {
 *   toSql: (column, [length], dialect) =>
 *     sql`length(${dialect.operand(column)}) = ${Number(length)}`,
 *   matches: (value, [length]) => [...String(value)].length === Number(length),
 * };
 * const customOperators = { "=len=": hasLength };
 * ```
 *
 * @module
 */
export type { Comparison, Not, Related } from "../src/filter/filter.ts";
export type { ComparisonBuilder, FilterValue } from "../src/filter/builders.ts";
export type { FilterText } from "../src/filter/filter_text.ts";
export type { Draft, Rule } from "../src/filter/rule.ts";
export type { RelationTo } from "../src/resource/define/relations.ts";
export type { Operator, OperatorTakes } from "../src/filter/operators/operator.ts";
export type { CustomOperator } from "../src/filter/operators/operator_registry.ts";
export type { JsonPath } from "../src/sql/json_path_dialect.ts";
