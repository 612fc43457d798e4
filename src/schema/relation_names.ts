/** The facts that determine the name of a derived relation: a foreign key and its two tables. */
export interface NamedKey {
  /** The names of the columns, in the table that has the key. */
  readonly columns: readonly string[];
  /** The names of the referenced columns. */
  readonly references: readonly string[];
  /** The name of the table that has the key. */
  readonly from: string;
  /** The name of the referenced table. */
  readonly to: string;
}

/** Names for one relation, best first. The next name is used if a name is not free. */
export type NameChoices = readonly string[];

/** Returns names for the relation along a foreign key, to one row, such as `billing_address`. */
export function namesToOne(key: NamedKey): NameChoices {
  const role = roleOf(key);
  const target = singular(key.to);
  const leading = (start: string) =>
    endsInPreposition.test(start) ? joined(key, start, target) : joined(key, start, "to", target);
  // Within one table, the table name does not distinguish the two directions.
  const names = key.from === key.to ? [role] : [role, target];
  return [...names, leading(role), leading(key.columns.join("_"))];
}

/**
 * Returns names for the relation against a foreign key, to many rows: `orders`, and if several keys
 * exist, `orders_by_billing_address`.
 */
export function namesToMany(key: NamedKey): NameChoices {
  const { from, columns } = key;
  return [from, joined(key, from, "by", roleOf(key)), joined(key, from, "by", columns.join("_"))];
}

/**
 * Returns true if a foreign key has the name of the table that it references, like `language_id`
 * next to `original_language_id`: then the name of its table suffices for the relation.
 */
export function isPlainKey(key: NamedKey): boolean {
  const role = letters(singular(roleOf(key)));
  const target = letters(singular(key.to));
  return role === target || (role.length > 2 && target.endsWith(role));
}

/**
 * Returns names for the relation through a link table, from the key to the link and the key of the
 * target: `tracks`. Within one table the column is more specific than the table: `followee`.
 */
export function namesThrough(near: NamedKey, far: NamedKey): NameChoices {
  const role = roleOf(far);
  return [
    near.to === far.to ? role : far.to,
    joined(far, far.to, "through", far.from),
    joined(far, far.to, "through", far.from, "by", role),
  ];
}

/**
 * Assigns to each relation the first of its names that is free. Relations of an earlier group have
 * precedence. Within a group, a name that several relations want next is assigned to none of them,
 * so the result does not depend on an order. A relation without a free name gets no name.
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

/** Replaces the characters that separate names in `include` and in filters. */
function writable(name: string): string {
  return name.replaceAll(/[,.;()]/g, "_").trim();
}

/**
 * Returns the role of a referenced row, from the columns: `billing_address` of
 * `billing_address_id`. Of several columns, only those with another name in the referenced table
 * count, as in `(tenant_id, author_id)` to `(tenant_id, id)`. If not exactly one remains, the role
 * is the table.
 */
function roleOf({ columns, references, to }: NamedKey): string {
  const telling = columns.length === 1
    ? columns
    : columns.filter((column, index) => column !== references[index]);
  const [column, another] = telling;
  return column === undefined || another !== undefined ? singular(to) : withoutId(column, to);
}

/** Returns the name of a column without its key suffix or prefix: `CustomerID` is `Customer`. */
function withoutId(column: string, table: string): string {
  // In a table of grids, "grid_id" and "gridid" mean a grid, and so does "grid".
  if (letters(column) === letters(singular(table))) return column;
  return affixes.reduce((name, affix) => name.replace(affix, ""), column)
    .replace(/^(?:fk|id)\p{Lu}(?=\p{Ll})/u, (start) => start.slice(2).toLowerCase());
}

/** Without a separator, three letters must remain: "uid" is not "u". */
const affixes: readonly RegExp[] = [
  /^(?:fk|id)_+(?=.)/i,
  /(?<=[^_])_+fk$|(?<=\p{Ll})F[Kk]$/iu,
  /(?<=[^_ ])[_ ]+(?:id|key|uuid|guid)$/i,
  /(?<=[\p{Ll}\d])(?:I[dD]|Key|Uuid|UUID|Guid|GUID)$/u,
  /(?<=\p{L}{3})(?:id|ID)$/u,
];

const endsInPreposition =
  /(?:_|\b)(?:by|to|of|for|from|in|at|on|with)$|(?:By|To|Of|For|From|In|At|On|With)$/;

/** Joins words in the style of the key's names: `team_by_lead` or `TeamByLead`. */
function joined({ columns, from, to }: NamedKey, ...words: readonly string[]): string {
  const names = [...columns, from, to];
  const isSnake = names.some((name) => name.includes("_")) ||
    !names.some((name) => /\p{Lu}/u.test(name));
  return words.reduce((name, word) =>
    isSnake
      ? `${name.replace(/_$/, "")}_${word.replace(/^_/, "")}`
      : name + word.charAt(0).toUpperCase() + word.slice(1)
  );
}

/** Returns the singular of a regular English plural; any other name unchanged. */
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
