import { assert, assertEquals } from "@std/assert";
import { exportedFiles, root } from "./module_graph.ts";

/** More is more than a reader of the package's front page takes in. */
const maxNames = 80;

/**
 * Names without an example of their own: the name beside each is the one whose example uses it, or
 * whose declaration has it as the type of something.
 */
const shownBy: Readonly<Record<string, string>> = {
  ...by("table", [
    ...["bigint", "boolean", "bytes", "date", "decimal", "json", "real", "timestamp", "uuid"],
    ...["Table", "check", "foreignKey", "index", "unique"],
  ]),
  ...by("createdAt", ["updatedAt"]),
  ...by("Table", ["Column"]),
  ...by("and", [
    ...["all", "Filter", "gt", "gte", "inList", "isNotNull", "like", "lt", "lte", "ne", "none"],
    ...["or", "User"],
  ]),
  ...by("eq", ["isNull"]),
  ...by("has", ["hasAll", "hasAny"]),
  ...by("createApp", ["App", "AppConfig"]),
  ...by("App", ["AppEnv", "RequestInfo"]),
  ...by("AppConfig", ["Middleware", "ActAsOptions"]),
  ...by("serve", ["ServeConfig", "Server"]),
  ...by("ServeConfig", ["ServiceConfig"]),
  ...by("openDatabase", ["Database"]),
  ...by("resource", ["ResourceOptions"]),
  ...by("AppConfig", ["ResourceDefinition"]),
  ...by("ResourceOptions", ["Hooks", "Procedure"]),
  ...by("Hooks", ["HookContext"]),
  ...by("Procedure", ["ProcedureContext"]),
};

/** Names that several files export, each with the reason. */
const inSeveralPlaces: Readonly<Record<string, string>> = {
  rsql: "the service keeps the values apart, the client writes them into a text that it sends",
  useLive: "a program uses one framework",
  useLiveAggregate: "a program uses one framework",
  useLiveList: "a program uses one framework",
};

const documented = await documentedNames();
const front = documented.get("mod.ts") ?? new Map<string, Declarations>();

Deno.test("mod.ts exported 194 names, most of which describe single options", () => {
  assert(front.has("createApp"), "exports are found");
  assert(front.size <= maxNames, `mod.ts exports ${front.size} names, ${maxNames} at most`);
});

Deno.test("every name of mod.ts has an example, or is shown by that of another", () => {
  const without = [...front].filter(([, declarations]) => examplesOf(declarations) === "")
    .map(([name]) => name);
  assertEquals(without.filter((name) => !isShown(name)), []);
  assertEquals(Object.keys(shownBy).filter((name) => !without.includes(name)), [], "out of date");
});

Deno.test("every exported name and every member of it is documented", async () => {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", `${root}dev/doc_lint.ts`],
    stdout: "null",
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
});

Deno.test("each public name is exported from one place", () => {
  const places = new Map<string, string[]>();
  for (const [file, names] of documented) {
    if (file !== "mod.ts" && !file.startsWith("exports/")) continue;
    for (const name of names.keys()) places.set(name, [...places.get(name) ?? [], file]);
  }
  const twice = [...places].filter(([, files]) => files.length > 1).map(([name]) => name);
  assertEquals(twice, Object.keys(inSeveralPlaces));
});

/** Whether the chain of names that show this one ends at an example. */
function isShown(name: string): boolean {
  const shower = shownBy[name];
  const declarations = shower === undefined ? undefined : front.get(shower);
  if (shower === undefined || declarations === undefined) return false;
  const examples = examplesOf(declarations);
  if (examples !== "" && new RegExp(`\\b${name}\\b`).test(examples)) return true;
  const asType = JSON.stringify(declarations).includes(`"typeName":"${name}"`);
  return asType && (examples !== "" || isShown(shower));
}

interface Declaration {
  readonly jsDoc?: { readonly tags?: readonly { readonly kind: string; readonly doc?: string }[] };
}

type Declarations = readonly Declaration[];

function examplesOf(declarations: Declarations): string {
  return declarations.flatMap(({ jsDoc }) => jsDoc?.tags ?? [])
    .filter(({ kind }) => kind === "example").map(({ doc = "" }) => doc).join("\n");
}

/** The exported names of each exported file, as Deno documents them. */
async function documentedNames(): Promise<
  ReadonlyMap<string, ReadonlyMap<string, Declarations>>
> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", ...exportedFiles],
    cwd: root,
    stderr: "inherit",
  }).output();
  const { nodes }: {
    nodes: Record<string, { symbols: { name: string; declarations: Declarations }[] }>;
  } = JSON.parse(new TextDecoder().decode(stdout));
  return new Map(
    Object.entries(nodes).map(([file, { symbols }]) => [
      file.slice(`file://${root}`.length),
      new Map(symbols.map(({ name, declarations }) => [name, declarations])),
    ]),
  );
}

function by(shower: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, shower]));
}
