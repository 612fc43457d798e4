import {
  all,
  and,
  eq,
  gt,
  gte,
  has,
  hasAll,
  hasAny,
  inList,
  isNotNull,
  isNull,
  like,
  lt,
  lte,
  ne,
  none,
  not,
  or,
  policy,
  rsql,
} from "../../../mod.ts";
import type { Rule } from "../../../exports/filter.ts";
import type { ColumnLike } from "../../../exports/schema.ts";
import type { Dice } from "./dice.ts";
import { type Filled, partsOf } from "./filter_text.ts";
import { endOf, type TableName } from "./model.ts";
import { columnsOf, relationsOf, tableOf } from "./tables.ts";
import { type Compare, type Constant, isMissing, type Quantified, type Tree } from "./tree.ts";

/**
 * The filter as code writes it: builders, quantifiers, templates and policies within each other. With
 * no templates it is of builders alone, as far as there are any.
 */
export function ruleOf(tree: Tree, table: TableName, dice: Dice, templates = 0.4): Rule {
  const rule = (tree: Tree, table: TableName): Rule => {
    const made = build(tree, table);
    if (templates === 0 || !dice.chance(0.05)) return made;
    const name = String(dice(1_000_000));
    return policy(tableOf(table), name, () => made)({ id: "anyone" });
  };

  function build(tree: Tree, table: TableName): Rule {
    if (isConstant(tree)) return tree.kind === "all" ? all() : none();
    if (dice.chance(templates)) return template(tree, table);
    switch (tree.kind) {
      case "and":
        return and(...tree.terms.map((term) => rule(term, table)));
      case "or":
        return or(...tree.terms.map((term) => rule(term, table)));
      case "not":
        return not(rule(tree.term, table));
      case "compare":
        return compared(tree, table);
      default:
        return quantified(tree, table, tree.path);
    }
  }

  function compared(tree: Compare, table: TableName): Rule {
    const [step, ...path] = tree.path;
    if (step !== undefined) {
      const inner = compared({ ...tree, path }, endOf(table, [step]));
      return relationsOf(table)[step]!.some(inner);
    }
    const isTest = tree.operator === "=isnull=" && isMissing(tree);
    const built = tree.within === undefined && !isTest ? builder(tree, table) : null;
    return built ?? template(tree, table);
  }

  /** `none` of a path is none along its first relation with some along the others. */
  function quantified(tree: Quantified, table: TableName, path: readonly string[]): Rule {
    const [step, ...rest] = path;
    if (step === undefined) throw new Error("a quantifier without a path");
    const relation = relationsOf(table)[step]!;
    const target = endOf(table, [step]);
    if (rest.length > 0) {
      const kind = tree.kind === "none" ? "some" : tree.kind;
      return relation[tree.kind](quantified({ ...tree, kind }, target, rest));
    }
    if (tree.term !== null) return relation[tree.kind](rule(tree.term, target));
    return tree.kind === "every" ? relation.every(all()) : relation[tree.kind]();
  }

  function template(tree: Tree, table: TableName): Rule {
    const parts = partsOf(tree, dice, {
      term: (term, at) =>
        isConstant(term) || dice.chance(0.2) ? { filled: rule(term, endOf(table, at)) } : null,
      values: (tree) => filledValues(tree, dice),
    });
    return rsqlOf(parts);
  }

  return rule(tree, table);
}

function isConstant(tree: Tree): tree is Constant {
  return tree.kind === "all" || tree.kind === "nothing";
}

/** The rule of a template whose parts are known only when it runs. */
export function rsqlOf(parts: readonly (string | Filled)[]): Rule {
  const strings = [""];
  const values: unknown[] = [];
  for (const part of parts) {
    if (typeof part === "string") strings.push(strings.pop() + part);
    else {
      strings.push("");
      values.push(part.filled);
    }
  }
  return rsql(Object.assign(strings, { raw: strings }), ...values);
}

/** Null where the text has the values itself. */
function filledValues(tree: Compare, dice: Dice): readonly Filled[] | null {
  const { operator, values, within, missing } = tree;
  const isList = /^=(in|out|hasany|hasall)=$/.test(operator);
  if (isMissing(tree)) {
    if (!isList && values.length === 0) return [{ filled: missing }];
    if (values.length === 0 && dice.chance(0.4)) return [{ filled: missing }];
    const items = [...values, missing];
    return dice.chance(0.5) ? [{ filled: items }] : items.map((filled) => ({ filled }));
  }
  if (values.length === 0) return [{ filled: [] }];
  // A test for NULL, and the type of a value in a document, are the text's to say.
  const isText = values[0] === null || within !== undefined || operator.startsWith("=has");
  if (isText || dice.chance(0.4)) return null;
  if (isList && dice.chance(0.5)) return [{ filled: values }];
  return values.map((filled) => ({ filled }));
}

/** Null for an operator that no builder has. */
function builder(tree: Compare, table: TableName): Rule | null {
  const { operator, values } = tree;
  const column = columnsOf(table)[tree.field]!;
  // The operators of the tree suit the kind of the column.
  const [text, list] = [column as ColumnLike<string>, column as ColumnLike<readonly unknown[]>];
  const given = isMissing(tree) ? [...values, tree.missing] : values;
  const [first] = given;
  if (first === null && !isMissing(tree)) {
    return operator === "==" ? isNull(column) : isNotNull(column);
  }
  switch (operator) {
    case "==":
      return eq(column, first);
    case "!=":
      return ne(column, first);
    case ">":
      return gt(column, first);
    case ">=":
      return gte(column, first);
    case "<":
      return lt(column, first);
    case "<=":
      return lte(column, first);
    case "=in=":
      return inList(column, given);
    case "=out=":
      return and(...given.map((value) => ne(column, value)));
    case "%=":
      return like(text, typeof first === "number" ? undefined : first as string);
    case "=isnull=":
      return first === true ? isNull(column) : isNotNull(column);
    case "=has=":
      return has(list, first);
    case "=hasany=":
      return hasAny(list, given);
    case "=hasall=":
      return hasAll(list, given);
    default:
      return null;
  }
}
