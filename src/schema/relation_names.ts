/** A foreign key with its two tables, from which the name of a relation is derived. */
export interface ForeignKeyNames {
  readonly columns: readonly string[];
  readonly references: readonly string[];
  /** The name of the table that contains the foreign key. */
  readonly from: string;
  /** The name of the referenced table. */
  readonly to: string;
}

/** Candidate names for one relation, best first. The first name that is free is used. */
export type NameChoices = readonly string[];

/** Returns candidate names for the relation to a referenced row, such as `billing_address`. */
export function namesToOne(key: ForeignKeyNames): NameChoices {
  const role = roleOf(key);
  const target = singular(key.to);
  const leading = (start: string) =>
    endsInPreposition.test(start) ? joined(key, start, target) : joined(key, start, "to", target);
  // In a self-reference, the table name is the same for both directions, so it is no candidate.
  const names = key.from === key.to ? [role] : [role, target];
  return [...names, leading(role), leading(key.columns.join("_"))];
}

/**
 * Returns candidate names for the relation to the rows whose foreign key references a row, such as
 * `orders`. If several foreign keys exist, a candidate is `orders_by_billing_address`.
 */
export function namesToMany(key: ForeignKeyNames): NameChoices {
  const { from, columns } = key;
  return [from, joined(key, from, "by", roleOf(key)), joined(key, from, "by", columns.join("_"))];
}

/**
 * Returns true if a foreign key is named after the referenced table. For `languages`, this is true
 * for `language_id`, but not for `original_language_id`. The relation can then be named after the
 * table.
 */
export function isNamedAfterTable(key: ForeignKeyNames): boolean {
  const role = letters(singular(roleOf(key)));
  const target = letters(singular(key.to));
  return role === target || (role.length > 2 && target.endsWith(role));
}

/**
 * Returns candidate names for the relation through a link table, such as `tracks`. In a link
 * between rows of one table, the column name comes first, such as `followee`.
 */
export function namesThrough(near: ForeignKeyNames, far: ForeignKeyNames): NameChoices {
  const role = roleOf(far);
  return [
    near.to === far.to ? role : far.to,
    joined(far, far.to, "through", far.from),
    joined(far, far.to, "through", far.from, "by", role),
  ];
}

/**
 * Assigns to each relation its first candidate name that is free. Relations of an earlier group
 * have precedence. If several relations of a group have the same candidate, none of them gets this
 * name. The result thus does not depend on the order of relations. A relation without a free
 * candidate gets no name.
 */
export function chooseNames<Named extends { readonly names: NameChoices }>(
  groups: readonly (readonly Named[])[],
  taken: readonly string[],
): ReadonlyMap<Named, string> {
  const used = new Set(taken);
  const chosen = new Map<Named, string>();
  for (const group of groups) {
    const rounds = Math.max(0, ...group.map(({ names }) => names.length));
    for (let round = 0; round < rounds; round++) {
      const open = group.filter((one) => !chosen.has(one) && round < one.names.length);
      const asked = Map.groupBy(open, ({ names }) => writable(names[round] ?? ""));
      for (const [name, [one, ...others]] of asked) {
        if (one !== undefined && others.length === 0 && !used.has(name)) chosen.set(one, name);
      }
      for (const name of asked.keys()) used.add(name);
    }
  }
  return chosen;
}

/** Replaces the characters that are separators in `include` and in filters. */
function writable(name: string): string {
  return name.replaceAll(/[,.;()]/g, "_").trim();
}

/**
 * Returns the role of the referenced row, derived from the columns: `billing_address_id` yields
 * `billing_address`. In a composite key, columns with equal names on both sides are ignored, as
 * `tenant_id` in `(tenant_id, author_id)` to `(tenant_id, id)`. If not exactly one column remains,
 * the role is the name of the table.
 */
function roleOf({ columns, references, to }: ForeignKeyNames): string {
  const telling = columns.length === 1
    ? columns
    : columns.filter((column, index) => column !== references[index]);
  const [column, another] = telling;
  return column === undefined || another !== undefined ? singular(to) : withoutId(column, to);
}

/** Removes the prefix or suffix for "id" from a column name: `CustomerID` becomes `Customer`. */
function withoutId(column: string, table: string): string {
  // In a reference to the table `grids`, the column `grid` is a whole word without the suffix "id".
  if (letters(column) === letters(singular(table))) return column;
  return affixes.reduce((name, affix) => name.replace(affix, ""), column)
    .replace(/^(?:fk|id)\p{Lu}(?=\p{Ll})/u, (start) => start.slice(2).toLowerCase());
}

/** An affix without a separator must leave three letters, because "uid" is not "u" and "id". */
const affixes: readonly RegExp[] = [
  /^(?:fk|id)_+(?=.)/i,
  /(?<=[^_])_+fk$|(?<=\p{Ll})F[Kk]$/iu,
  /(?<=[^_ ])[_ ]+(?:id|key|uuid|guid)$/i,
  /(?<=[\p{Ll}\d])(?:I[dD]|Key|Uuid|UUID|Guid|GUID)$/u,
  /(?<=\p{L}{3})(?:id|ID)$/u,
];

const endsInPreposition =
  /(?:_|\b)(?:by|to|of|for|from|in|at|on|with)$|(?:By|To|Of|For|From|In|At|On|With)$/;

/** Joins words in the spelling of the foreign key's names: `team_by_lead` or `TeamByLead`. */
function joined({ columns, from, to }: ForeignKeyNames, ...words: readonly string[]): string {
  const names = [...columns, from, to];
  const isSnake = names.some((name) => name.includes("_")) ||
    !names.some((name) => /\p{Lu}/u.test(name));
  return words.reduce((name, word) =>
    isSnake
      ? `${name.replace(/_$/, "")}_${word.replace(/^_/, "")}`
      : name + word.charAt(0).toUpperCase() + word.slice(1)
  );
}

/** Returns the singular of a regular English plural. Returns other names unchanged. */
function singular(name: string): string {
  const [ending, replacement] = plurals.find(([ending]) => ending.test(name)) ?? [];
  return ending === undefined || replacement === undefined
    ? name
    : name.replace(ending, replacement);
}

const plurals: readonly (readonly [RegExp, string])[] = [
  [/(?:ss|us|is|series|species|news)$/i, "$&"],
  [/(?<=mov|cook|zomb|calor)ies$/i, "ie"],
  [/(?<=[^aeiou])ies$/i, "y"],
  [/(?<=ss|x|ch|sh|zz|status|bonus|campus|virus|alias)es$/i, ""],
  [/(?<=p)eople$/i, "erson"],
  [/(?<=child)ren$/i, ""],
  [/(?<=..)s$/i, ""],
];

function letters(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
}
