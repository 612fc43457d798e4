import {
  and,
  eq,
  type Filter,
  gt,
  gte,
  inList,
  isNotNull,
  isNull,
  lt,
  lte,
  ne,
  or,
  rsql,
} from "../../mod.ts";
import type { ColumnLike } from "../../exports/schema.ts";
import type { Call, GivenFilter } from "./both_ways.ts";
import { authors, books, labels, stock, trail, users } from "./library.ts";

/** A number from 0 to 1. */
export type Draw = () => number;

/** What earlier calls have shown, for later ones: cursors and tags. */
export interface Seen {
  readonly cursors: string[];
  readonly tags: string[];
}

const named = { authors, books, labels, stock, "audit/trail": trail };
type Name = keyof typeof named;

/** Values of fields by name: right ones, and wrong ones. */
const values: Readonly<
  Record<string, readonly [right: readonly unknown[], wrong: readonly unknown[]]>
> = {
  id: [[1, 2, 3, 4, 5, 6, 7, 99], ["x", null, 1.5]],
  title: [
    ["Tea", "tea", "Dune", "late", "again", "spread", "count", "x,y;z", "é\"'\\", ""],
    ["veto", "crash", "a title of far more than thirty letters", 7, null, {}],
  ],
  isbn: [["1", "2", "3", null], [4]],
  price: [["1.50", "2.5", 3, null, "-0.00", 0.1], ["9.999", "abc", 1e9]],
  pages: [[1, 12, 300, null], [0, 5001, "12", 2.5, true]],
  weight: [[0.5, 1e300, null], ["1"]],
  inPrint: [[true, false], ["true", 1, null]],
  publishedAt: [
    ["2024-05-06T07:08:09Z", "2024-05-06T07:08:09.123456+02:00", null],
    ["yesterday", 5],
  ],
  data: [[null, {}, { a: [1, { b: 2 }] }, [1, "x", null], "text", 1.25, true], []],
  state: [["draft", "open", "closed"], ["lost", null]],
  ownerId: [["ada", "bob", "root"], [null]],
  authorId: [[1, 2, 3, null], [99, "1"]],
  cost: [[1, 100, null], []],
  secret: [["s1", "s2"], []],
  version: [[1, 2, 9], []],
  deletedAt: [["2024-05-06T07:08:09Z", null], []],
  name: [["Ada", "Bob", "red", "green", "blue", ""], [null, 3]],
  color: [["#f00", null], [1]],
  published: [[true, false], [null]],
  store: [["north", "south", "a,b", ""], [null]],
  sku: [[1, 2, 3], ["2", null]],
  count: [[0, 5, -1], ["5", null]],
  note: [["x", null], []],
  what: [["created Tea", "x"], []],
  by: [["ada", null], []],
};

/** Draws one random call after the other, the same ones for the same draws. */
export function randomCalls(draw: Draw, seen: Seen): () => Call {
  const below = (end: number) => Math.floor(draw() * end);
  const chance = (share: number) => draw() < share;
  // Nothing draws from an empty list.
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const some = <T>(list: readonly T[], most: number): T[] =>
    Array.from({ length: below(most + 1) }, () => pick(list));

  const columnsOf = (name: Name): readonly string[] => Object.keys(named[name]);
  const rightValue = (field: string) => {
    const [right, wrong] = values[field] ?? [[1], []];
    return wrong.length > 0 && chance(0.07) ? pick(wrong) : pick(right);
  };

  function body(name: Name, fields = columnsOf(name)): unknown {
    if (chance(0.04)) return pick<unknown>([null, [], "text", 5, undefined, {}]);
    const result: Record<string, unknown> = {};
    const required = {
      authors: ["name"],
      books: ["title"],
      labels: ["name"],
      stock: ["store", "sku", "count"],
      "audit/trail": ["what"],
    }[name];
    for (const field of required) if (chance(0.9)) result[field] = rightValue(field);
    const optional = fields.filter((field) => field !== "id" && field !== "version");
    for (const field of some(optional, 4)) result[field] = rightValue(field);
    if (chance(0.04)) result["nonsense"] = 1;
    if (chance(0.03)) result["id"] = rightValue("id");
    return result;
  }

  function newBody(name: Name): unknown {
    const given = body(name);
    if (name !== "books" || typeof given !== "object" || given === null || !chance(0.25)) {
      return given;
    }
    const related = chance(0.5)
      ? {
        labels: some([{ name: "red" }, { name: "new", color: "#0f0" }, { name: "lost" }, {}, 5], 3),
      }
      : { author: body("authors"), authorId: undefined };
    return { ...given, ...related };
  }

  /** A body that changes a row, which may relate it to others. */
  function changedBody(name: Name): unknown {
    const given = body(name);
    const isRow = typeof given === "object" && given !== null && !Array.isArray(given);
    if (!isRow || name !== "books" || !chance(0.35)) return given;
    const some3 = () => some<unknown>(["red", "green", "new", "lost", 5], 3);
    const links = pick<() => unknown>([
      () => ({ connect: some3(), disconnect: some3() }),
      () => ({ set: some3() }),
      () => ({ create: some<unknown>([{ name: "new" }, { name: "red" }, { color: "x" }], 2) }),
      () => ({ disconnect: some3(), create: [{ name: `l${below(5)}` }] }),
      () => some3(),
    ])();
    return chance(0.8)
      ? { ...given, labels: links }
      : { ...given, author: pick<unknown>([{ connect: 1 }, { disconnect: true }, { create: {} }]) };
  }

  function item(name: Name, keyed: boolean): unknown {
    const given = newBody(name);
    if (!keyed || typeof given !== "object" || given === null) return given;
    const key = name === "stock"
      ? { store: pick(["north", "south", "east"]), sku: below(4) }
      : name === "labels"
      ? { name: pick(["red", "green", "new"]) }
      : { id: below(9) };
    return {
      ...given,
      ...(chance(0.9) ? key : {}),
      ...(chance(0.3) && seen.tags.length > 0 ? { _ifMatch: pick(seen.tags) } : {}),
      ...(chance(0.1) ? { _optimisticId: pick(["o1", "o2", "\u0001"]) } : {}),
    };
  }

  /** What the builders can say, in a text as well. */
  function comparison(name: Name): GivenFilter {
    const table: Readonly<Record<string, unknown>> = { ...named[name] };
    const field = pick(columnsOf(name));
    // The columns of a table, whose values the list above has.
    const column = table[field] as ColumnLike<unknown>;
    const [right] = values[field] ?? [[]];
    const likeFirst = right.filter((value) => typeof value === typeof right[0]);
    const value = likeFirst.length === 0 ? undefined : pick(likeFirst);
    // The builders match nothing for a value of another kind, which a text may not have.
    const isPlain = !["data", "state", "published"].includes(field) && value !== undefined &&
      !(name === "audit/trail" && field === "id");
    const quoted = typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : `${value}`;
    if (!isPlain || chance(0.15)) {
      return chance(0.5)
        ? { text: `${field}=isnull=true`, built: isNull(column) }
        : { text: `${field}=isnull=false`, built: isNotNull(column) };
    }
    const [symbol, build] = pick<[string, (c: ColumnLike<unknown>, v: unknown) => Filter]>(
      typeof value === "boolean"
        ? [["==", eq], ["!=", ne]]
        : [["==", eq], ["!=", ne], [">", gt], [">=", gte], ["<", lt], ["<=", lte]],
    );
    if (chance(0.2)) {
      const built = inList(column, [value, value]);
      const isNone = built.kind === "none";
      return { text: `${field}=in=(${quoted},${quoted})`, built: isNone ? null : built };
    }
    const text = `${field}${symbol}${quoted}`;
    // A value that the column cannot have matches nothing in code, and is a 400 in a text.
    if (build(column, value).kind === "none") return { text, built: null };
    // The name of the field stands in the text of a template.
    const parts = Object.assign([`${field}${symbol}`, ""], { raw: [`${field}${symbol}`, ""] });
    const built = chance(0.5) ? build(column, value) : rsql(parts, value);
    return { text, built };
  }

  function filter(name: Name): GivenFilter {
    if (chance(0.3)) {
      return {
        text: pick([
          ...["title=icontains=e", "author.name==Ada", "labels.name=in=(red,green)", "nonsense==1"],
          ...["pages>abc", "title==", "(pages>1", "secret==s1", "titel==x", "cost>1", "weight>0.1"],
          ...["author.secret==x", "pages=between=(1,100)", "data.a.1.b==2", "data=isnull=true", ""],
          ...[
            "title==Tea;;pages>1",
            "state==lost",
            "publishedAt>2024-01-01T00:00:00Z",
            "a.b.c.d==1",
          ],
          ...["pages=regex=x", "title=like=T%", 'title=="x,y;z"', "id=in=()", "books.title==Tea"],
        ]),
        built: null,
      };
    }
    const one = comparison(name);
    if (chance(0.6)) return one;
    const other = comparison(name);
    const isBoth = chance(0.5);
    const trees = [one, other].flatMap(({ built }) =>
      built === null || built.kind === "text" ? [] : [built]
    );
    return {
      text: `(${one.text})${isBoth ? ";" : ","}(${other.text})`,
      built: trees.length < 2 ? null : isBoth ? and(...trees) : or(...trees),
    };
  }

  function key(name: Name): readonly unknown[] {
    if (chance(0.05)) return [pick<unknown>(["x y", "count", "é/ü", "1e3", "0", "%", "a,b"])];
    if (name === "stock") return [pick(["north", "south", "a,b"]), below(4)];
    if (name === "labels") return [pick(["red", "green", "new", "of 1"])];
    if (name === "audit/trail") return [pick(["x", "00000000-0000-7000-8000-000000000000"])];
    return [below(9)];
  }

  function shape(name: Name): Record<string, unknown> {
    const fields = [...columnsOf(name), "titel", "label", ""];
    return {
      ...(chance(0.25) ? { select: some(fields, 4).join(",") } : {}),
      ...(chance(0.3)
        ? {
          include: pick([
            ...[
              "author",
              "labels",
              "books",
              "author.books",
              "labels(limit:1)",
              "books(filter:pages>1)",
            ],
            ...["autor", "labels(", "labels.books.author", "author.books.labels", "author,author"],
            ...["books(orderBy:-title;limit:2;select:title)", "books(filter:secret==1)"],
          ]),
        }
        : {}),
    };
  }

  function order(name: Name): Record<string, unknown> {
    const fields = [...columnsOf(name), "nonsense"];
    const one = () => `${pick(["", "-", ""])}${pick(fields)}${pick(["", "", ":desc", ":up"])}`;
    return chance(0.4) ? { orderBy: Array.from({ length: 1 + below(2) }, one).join(",") } : {};
  }

  function limits(): Record<string, unknown> {
    return chance(0.4) ? { limit: pick<unknown>([1, 2, 3, 100, 0, -1, "x", 2.5, 1e9]) } : {};
  }

  function aggregate(name: Name): Record<string, unknown> {
    const list = () => some([...columnsOf(name).slice(0, 8), "cost", "nonsense"], 2).join(",");
    const parts: Record<string, unknown> = { ...limits() };
    for (const part of ["groupBy", "sum", "avg", "min", "max"]) {
      if (chance(0.35)) parts[part] = list();
    }
    if (chance(0.3)) parts["count"] = pick<unknown>([true, false, "maybe"]);
    if (chance(0.2)) parts["having"] = pick(["count>1", "sum_pages>10", "nonsense==1", "count="]);
    if (chance(0.2)) parts["orderBy"] = pick(["-count", "sum_pages", "state", "nonsense"]);
    return parts;
  }

  function call(name: Name): Omit<Call, "resource" | "user"> {
    const filtered = chance(0.6) ? { filter: filter(name) } : {};
    const tag = () =>
      seen.tags.length > 0 && chance(0.8) ? pick(seen.tags) : pick(["*", '"x"', "W/x"]);
    const ifMatch = chance(name === "stock" ? 0.8 : 0.3) ? { ifMatch: tag() } : {};
    const optimistic = chance(0.1) ? { optimisticId: pick(["o1", "o2", "x".repeat(201)]) } : {};
    const written = { ...ifMatch, ...optimistic };
    switch (below(20)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const cursor = seen.cursors.length > 0 && chance(0.3)
          ? { cursor: pick([...seen.cursors, "nonsense"]) }
          : {};
        const total = chance(0.2) ? { totalCount: pick<unknown>([true, "estimated", "x"]) } : {};
        const deleted = chance(0.2) ? { withDeleted: pick<unknown>([true, false, "x"]) } : {};
        const offset = chance(0.15) ? { offset: pick<unknown>([0, 1, 5, -1, "x", 20_000]) } : {};
        const query = {
          ...offset,
          ...shape(name),
          ...order(name),
          ...limits(),
          ...cursor,
          ...total,
          ...deleted,
        };
        return { operation: "list", query, ...filtered };
      }
      case 4:
      case 5: {
        const ifNoneMatch = chance(0.3) ? { ifNoneMatch: tag() } : {};
        return { operation: "get", key: key(name), query: shape(name), ...ifNoneMatch };
      }
      case 6:
        return { operation: "count", query: chance(0.3) ? { withDeleted: true } : {}, ...filtered };
      case 7:
        return { operation: "aggregate", query: aggregate(name), ...filtered };
      case 8: {
        const q = pick(["tea", "du", "é", "", "nothing", "x y"]);
        const highlight = chance(0.3) ? { highlight: true } : {};
        const offset = chance(0.2) ? { offset: pick<unknown>([1, -1, 20000]) } : {};
        return {
          operation: "search",
          query: { q, ...limits(), ...highlight, ...offset },
          ...filtered,
        };
      }
      case 9:
      case 10:
      case 11:
        return {
          ...{ operation: "create", body: newBody(name), ...optimistic },
          ...(chance(0.2)
            ? { ...ifMatch, query: { on: pick(["isbn", "id", "title", "name"]) } }
            : {}),
        };
      case 12:
      case 13:
        return { operation: "update", key: key(name), body: changedBody(name), ...written };
      case 14:
        return { operation: "replace", key: key(name), body: changedBody(name), ...written };
      case 15:
        return { operation: chance(0.6) ? "delete" : "restore", key: key(name), ...written };
      case 16:
        return {
          operation: "batch.create",
          body: chance(0.05)
            ? pick<unknown>([{}, null])
            : some([0, 1, 2, 3, 4], 5).map(() => item(name, false)),
        };
      case 17:
        return { operation: "batch.update", filter: filter(name), body: body(name) };
      case 18:
        return chance(0.5)
          ? { operation: "batch.replace", body: some([0, 1, 2], 5).map(() => item(name, true)) }
          : {
            ...{ operation: "batch.upsert", body: some([0, 1, 2], 5).map(() => item(name, true)) },
            ...(chance(0.3) ? { query: { on: pick(["isbn", "id", "title"]) } } : {}),
          };
      default:
        return chance(0.5) ? { operation: "batch.delete", filter: filter(name) } : {
          operation: "rpc",
          procedure: pick(["double", "mine"]),
          body: pick<unknown>([{ n: 1 }, { n: 13 }, { n: "x" }, {}, null, { n: 4, more: [1] }]),
        };
    }
  }

  // What chance leads to too rarely.
  const ada = users[1] ?? null;
  const first: Call[] = [
    ...["crash", "veto", "late", "spread"].map((title): Call => ({
      ...{ resource: "books", user: ada, operation: "create", body: { title } },
    })),
    { resource: "stock", user: ada, operation: "delete", key: ["north", 0] },
    { resource: "stock", user: ada, operation: "delete", key: ["north", 0], ifMatch: '"x"' },
    { resource: "books", user: ada, operation: "list", query: { cursor: "nonsense" } },
    { resource: "books", user: ada, operation: "batch.create", body: [{}, {}, {}, {}, {}] },
    { resource: "books", user: ada, operation: "create", body: [] },
    {
      resource: "books",
      user: ada,
      operation: "update",
      key: [1],
      body: { data: "x".repeat(2_000) },
    },
    { resource: "books", user: ada, operation: "list" },
  ];

  return () => {
    const known = first.pop();
    if (known !== undefined) return known;
    const isTrail = chance(0.04);
    const name = isTrail
      ? "audit/trail"
      : pick<Name>(["books", "books", "books", "books", "authors", "labels", "stock", "stock"]);
    const one = call(name);
    const resource = one.operation === "rpc" ? "books" : name;
    return { resource, user: chance(0.06) ? null : pick(users.slice(1)), ...one };
  };
}
