export interface ForeignKeyNames {
  readonly columns: readonly string[];
  readonly references: readonly string[];
  readonly from: string;
  readonly to: string;
}

/** Possible names of a relation, best first. The first one that is not taken is used. */
export type NameChoices = readonly string[];

export function namesToOne(key: ForeignKeyNames): NameChoices {
  const role = roleOf(key);
  const target = singular(key.to);
  const leading = (start: string) =>
    endsInPreposition.test(start) ? joined(key, start, target) : joined(key, start, "to", target);
  // In a table that refers to itself, the table's name would fit both directions of the relation.
  const names = key.from === key.to ? [role] : [role, target];
  return [...names, leading(role), leading(key.columns.join("_"))];
}

export function namesToMany(key: ForeignKeyNames): NameChoices {
  const { from, columns } = key;
  return [from, joined(key, from, "by", roleOf(key)), joined(key, from, "by", columns.join("_"))];
}

export function isNamedAfterTable(key: ForeignKeyNames): boolean {
  const role = letters(singular(roleOf(key)));
  const target = letters(singular(key.to));
  return role === target || (role.length > 2 && target.endsWith(role));
}

export function namesThrough(near: ForeignKeyNames, far: ForeignKeyNames): NameChoices {
  const role = roleOf(far);
  return [
    near.to === far.to ? role : far.to,
    joined(far, far.to, "through", far.from),
    joined(far, far.to, "through", far.from, "by", role),
  ];
}

/** Skips a name that fits several relations of a group, so that the order has no influence. */
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

function writable(name: string): string {
  return name.replaceAll(/[,.;()]/g, "_").trim();
}

/**
 * Returns the role of the referenced row: `billing_address` for `billing_address_id`. Ignores a
 * column with the same name on both sides of a composite key, such as `tenant_id`. Unless exactly
 * one column is left, the role is the name of the referenced table.
 */
function roleOf({ columns, references, to }: ForeignKeyNames): string {
  const telling = columns.length === 1
    ? columns
    : columns.filter((column, index) => column !== references[index]);
  const [column, another] = telling;
  return column === undefined || another !== undefined ? singular(to) : withoutId(column, to);
}

function withoutId(column: string, table: string): string {
  // For the table `grids`, the whole column name `grid` is the role: its "id" is no suffix.
  if (letters(column) === letters(singular(table))) return column;
  return affixes.reduce((name, affix) => name.replace(affix, ""), column)
    .replace(/^(?:fk|id)\p{Lu}(?=\p{Ll})/u, (start) => start.slice(2).toLowerCase());
}

/** The affixes to remove. A plain "id" at the end must follow three letters, so "uid" remains. */
const affixes: readonly RegExp[] = [
  /^(?:fk|id)_+(?=.)/i,
  /(?<=[^_])_+fk$|(?<=\p{Ll})F[Kk]$/iu,
  /(?<=[^_ ])[_ ]+(?:id|key|uuid|guid)$/i,
  /(?<=[\p{Ll}\d])(?:I[dD]|Key|Uuid|UUID|Guid|GUID)$/u,
  /(?<=\p{L}{3})(?:id|ID)$/u,
];

const endsInPreposition =
  /(?:_|\b)(?:by|to|of|for|from|in|at|on|with)$|(?:By|To|Of|For|From|In|At|On|With)$/;

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
