import { assert, assertEquals } from "@std/assert";
import { type IncludeSyntax, parseInclude } from "../../../src/plan/parse_include.ts";
import { formatKey, type Key, parseKey } from "../../../src/plan/key.ts";
import { parseOrder, printOrder } from "../../../src/plan/order.ts";
import type { OrderKey } from "../../../src/plan/plan.ts";
import { parseQuery, type Query } from "../../../src/resource/http/query_parameters.ts";
import { parseSelect, type Selectable } from "../../../src/resource/shape/parse_select.ts";
import { nameOfItem, quoteName, splitNames } from "../../../src/filter/syntax/quoted_name.ts";
import { parseRequestTarget } from "../../../src/resource/http/request_target.ts";
import { parseSearchQuery } from "../../../src/search/search_query.ts";
import { tableOf } from "../../filter/support.ts";
import type { FuzzTarget } from "../engine/fuzz_target.ts";
import { isProblem } from "./documented.ts";

/** The parameter `include`. A parsed include, printed and parsed again, is the same include. */
export const includeTarget: FuzzTarget = {
  files: ["src/plan/parse_include.ts", "src/filter/syntax/quoted_name.ts"],
  seeds: [
    "author,books(select:title;orderBy:-rating;limit:2)",
    `a.b.c,"d e"(filter:x=="y;select:z";x>1;include:f(count:true;sum:g))`,
    "a(filter:not(b==1),c=in=(1,2);limit:3),a(count:true)",
    "a,".repeat(20),
  ],
  parse: parseInclude,
  isDocumented: isProblem("invalid-parameter", "filter-parse-error"),
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const items = result as readonly IncludeSyntax[];
    if (items.length === 0) return;
    const printed = printInclude(items);
    assertEquals(parseInclude(printed), items, `${input} → ${printed}`);
  },
};

function printInclude(items: readonly IncludeSyntax[]): string {
  return items.map(({ name, options, include }) => {
    const texts = [...options].map(([option, text]) => `${option}:${text}`);
    if (include.length > 0) texts.push(`include:${printInclude(include)}`);
    // A quoted name is any name. A name without quotes cannot have quotes inside.
    const printed = `"${name.replace(/["\\]/g, "\\$&")}"`;
    return texts.length === 0 ? printed : `${printed}(${texts.join(";")})`;
  }).join(",");
}

const ownParameters: ReadonlySet<string> = new Set(["on", "preview"]);

/** The query of a URL. Its known parameters have the values that `URLSearchParams` reads. */
export const queryTarget: FuzzTarget = {
  files: ["src/resource/http/query_parameters.ts", "src/problem/nearest_name.ts"],
  seeds: [
    "filter=age%3E%3D18&limit=3&orderBy=-a,b&select=a+b",
    "page=2&sort=x&fields=a&utm=1&filter=a==1&&b==2",
    "age=eq.1&or=(age.eq.1)&x=not.in.(1,2)",
    "fliter=1",
    "x&".repeat(120),
  ],
  parse: (input) => parseQuery(input, true, ownParameters),
  isDocumented: isProblem("invalid-parameter"),
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const query = result as Query;
    const others = new URLSearchParams(input);
    if (!input.isWellFormed()) return;
    // `URLSearchParams` omits one leading question mark, and a query of the service has none.
    if (input.startsWith("?")) return;
    for (const [name, value] of query) assertEquals(others.getAll(name), [value], input);
  },
};

/** The path and the query of a request target, which together with the host are the URL. */
export const requestTargetTarget: FuzzTarget = {
  files: ["src/resource/http/request_target.ts"],
  seeds: ["http://x/a/b?c=d", "http://x?a=/#b", "/a?b", "http://[::1]:80/%2f#x?y", "http://x"],
  parse: (input) => parseRequestTarget(input),
  isDocumented: () => false,
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const { path, query } = result as ReturnType<typeof parseRequestTarget>;
    assert(path.startsWith("/"), input);
    assert(!/[?#]/.test(path) && !query.includes("#"), input);
    if (path !== "/") assert(input.includes(path), input);
    assert(input.includes(query), input);
  },
};

/** Lists of names. Each name, quoted in a list, is read as the same name. */
export const namesTarget: FuzzTarget = {
  files: ["src/filter/syntax/quoted_name.ts"],
  seeds: ["a,b", '"a b","c,d"', '-"x":desc', '"a\\"b"."c"'],
  parse: (input) => splitNames(input),
  isDocumented: isProblem("invalid-parameter"),
  check(_, input) {
    if (/\p{Cs}/u.test(input)) return;
    const list = [input, "plain", input].map(quoteName).join(",");
    assertEquals(splitNames(list).map(nameOfItem), [input, "plain", input], input);
  },
};

const table = tableOf({ id: "integer", name: "text", "odd, name": "decimal", data: "json" });
const keyed = tableOf({ id: "text", name: "text" });

/** The parameter `orderBy`. A printed order is read as the same order. */
export const orderTarget: FuzzTarget = {
  files: ["src/plan/order.ts"],
  seeds: ["name:desc,-id", '"odd, name":asc', "+name", "name desc", "-data.a.b", "name.asc"],
  parse: (input) => orderOf(input),
  isDocumented: isProblem("invalid-parameter"),
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const order = result as readonly OrderKey[];
    assertEquals(printOrder(orderOf(printOrder(order))), printOrder(order), input);
  },
};

function orderOf(text: string): readonly OrderKey[] {
  return parseOrder(text, table, { sortable: new Set(table.columns), readable: table.columns });
}

/** Keys in paths. A printed key is read as the same key. */
export const keyTarget: FuzzTarget = {
  files: ["src/plan/key.ts"],
  seeds: ["1", "%63ount", ",..", "a%2Cb", ",", "%zz", "count", "."],
  parse: (input) => parseKey(input, keyed),
  isDocumented: isProblem("invalid-parameter"),
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const key = result as Key | null;
    if (key === null || !String(key[0]).isWellFormed()) return;
    const segment = formatKey(key, keyed.primaryKey);
    assertEquals(parseKey(segment, keyed), key, `${input} → ${segment}`);
    assertEquals(new URL(`http://x/${segment}`).pathname.slice(1), segment, input);
  },
};

const selectable: Selectable = {
  // Only the members that `parseSelect` reads are set.
  fields: { selectable: table.columns } as Selectable["fields"],
  computed: { fields: [["full", () => null]] } as unknown as Selectable["computed"],
  relations: new Map(),
  served: new Map() as unknown as Selectable["served"],
  strictQuery: true,
  safeNumbers: false,
  withheld: new Set(),
};

/** The parameter `select`. */
export const selectTarget: FuzzTarget = {
  files: ["src/resource/shape/parse_select.ts", "src/filter/document_path.ts"],
  seeds: [
    "id,name",
    '"odd, name",full',
    "data.a.b,data.a.c.0",
    "*",
    "author(name)",
    "a:b",
    "count()",
  ],
  // The paths into one document were copied for each further path.
  pumps: [{ before: "data.a", piece: ",data.b.c", after: "" }],
  parse: (input) => parseSelect(input, selectable, []),
  isDocumented: isProblem("invalid-parameter"),
};

/** The words of a search. */
export const searchTarget: FuzzTarget = {
  files: ["src/search/search_query.ts"],
  seeds: ["tea cake", "Ångström ﬁne ½ हिन्दी 日本語 Straße ςσ", "a ".repeat(40), "𐐀x"],
  parse: (input) => parseSearchQuery(input),
  isDocumented: isProblem("invalid-parameter"),
};
