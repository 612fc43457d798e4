import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { assertEquals } from "@std/assert";
import { parseArguments } from "../../src/cli/arguments.ts";
import { nearestName } from "../../src/problem/nearest_name.ts";

const nothing = {
  kind: "serve",
  database: null,
  config: null,
  port: null,
  host: null,
  public: false,
  write: false,
  triggers: false,
  changesSchema: null,
  historyDays: null,
  keys: {},
  schemas: null,
  search: false,
  watchSchema: false,
  ui: false,
  web: null,
  actAs: null,
  users: false,
  kv: null,
  workers: null,
} as const;

const store = { kv: null, config: null };

Deno.test("the arguments are parsed in any order", () => {
  const cases: readonly [args: string, expected: unknown][] = [
    ["", nothing],
    ["shop.db", { ...nothing, database: "shop.db" }],
    ["--port 0", { ...nothing, port: 0 }],
    ["-p 65535", { ...nothing, port: 65_535 }],
    ["--port=8080 --host=::1", { ...nothing, port: 8080, host: "::1" }],
    ["--write shop.db --public", { ...nothing, database: "shop.db", write: true, public: true }],
    ["a --write --triggers", { ...nothing, database: "a", write: true, triggers: true }],
    ["a --functions f.ts --extension b.so --extension=c.so", {
      ...nothing,
      database: "a",
      additions: { functions: pathToFileURL(resolve("f.ts")), extensions: ["b.so", "c.so"] },
    }],
    ["a --write --history 30", { ...nothing, database: "a", write: true, historyDays: 30 }],
    ["a --write --changes-schema s", {
      ...nothing,
      database: "a",
      write: true,
      changesSchema: "s",
    }],
    ["a --key v=x --key t=x,y", {
      ...nothing,
      database: "a",
      keys: { v: ["x"], t: ["x", "y"] },
    }],
    ["uninstall shop.db", { kind: "uninstall", database: "shop.db" }],
    ["a --web web/dist", { ...nothing, database: "a", web: "web/dist" }],
    ["-w 4", { ...nothing, workers: 4 }],
    ["-c other.ts", { ...nothing, config: "other.ts" }],
    ["-- --odd.db", { ...nothing, database: "--odd.db" }],
    ["a --trust-proxy 2", {
      ...nothing,
      database: "a",
      proxies: { abuseProtection: { trustProxy: 2 } },
    }],
    ["a --mounted-at /v1", { ...nothing, database: "a", proxies: { mountedAt: "/v1" } }],
    ["--users --kv a.kv shop.db", { ...nothing, database: "shop.db", users: true, kv: "a.kv" }],
    ["--act-as supabase postgres://db", {
      ...nothing,
      database: "postgres://db",
      actAs: "supabase",
    }],
    ["--search shop.db", { ...nothing, database: "shop.db", search: true }],
    ["--ui", { ...nothing, ui: true }],
    ["shop.db --ui", { ...nothing, database: "shop.db", ui: true }],
    ["a --schema b,c", { ...nothing, database: "a", schemas: ["b", "c"] }],
    ["search reindex a --schema *", {
      ...{ kind: "search", database: "a", config: null },
      schemas: ["*"],
    }],
    ["mcp a --schema b", { kind: "mcp", database: "a", write: false, schemas: ["b"] }],
    ["search reindex", { kind: "search", database: null, config: null, schemas: null }],
    ["search reindex shop.db", {
      kind: "search",
      database: "shop.db",
      config: null,
      schemas: null,
    }],
    ["search reindex -c a.ts", { kind: "search", database: null, config: "a.ts", schemas: null }],
    ["./users", { ...nothing, database: "./users" }],
    ["keys list --kv a.kv", {
      kind: "keys",
      kv: "a.kv",
      config: null,
      action: { verb: "list", json: false },
    }],
    ["keys revoke 12 -c b.ts", {
      kind: "keys",
      kv: null,
      config: "b.ts",
      action: { verb: "revoke", id: "12" },
    }],
    ["keys create --name ci --scopes a,b, --expires 12h --user 7", {
      kind: "keys",
      ...store,
      action: {
        verb: "create",
        name: "ci",
        userId: "7",
        scopes: ["a", "b"],
        expireInMs: 43_200_000,
      },
    }],
    ["users add a@b.c --roles x --password-stdin", {
      kind: "users",
      ...store,
      action: { verb: "add", email: "a@b.c", name: null, roles: ["x"], readsPassword: true },
    }],
    ["users role a@b.c writer,reader, x", {
      kind: "users",
      ...store,
      action: { verb: "role", email: "a@b.c", roles: ["writer", "reader", "x"] },
    }],
    ["users role a@b.c x y", {
      kind: "users",
      ...store,
      action: { verb: "role", email: "a@b.c", roles: ["x", "y"] },
    }],
    ["users enable a@b.c", {
      kind: "users",
      ...store,
      action: { verb: "enable", email: "a@b.c" },
    }],
    ["users --help", { kind: "help", command: "users" }],
    ["help", { kind: "help", command: null }],
    ["help backup", { kind: "help", command: "backup" }],
    ["shop.db --help", { kind: "help", command: null }],
    ["shop", { ...nothing, database: "shop" }],
    ["./uninstal", { ...nothing, database: "./uninstal" }],
    ["--help", { kind: "help", command: null }],
    ["-v", { kind: "version" }],
  ];
  for (const [args, expected] of cases) {
    assertEquals(parseArguments(args === "" ? [] : args.split(" ")), expected, args);
  }
});

Deno.test("invalid arguments are refused with one sentence", () => {
  const cases: readonly [args: string, message: string][] = [
    ["--prot 1", "Unknown option --prot: did you mean --port?"],
    ["--wirte a.db", "Unknown option --wirte: did you mean --write?"],
    ["-x", "Unknown option -x"],
    ["--constructor", "Unknown option --constructor"],
    ["--__proto__", "Unknown option --__proto__"],
    ["--port", "The option --port needs a value"],
    ["--port=", "The option --port needs a value"],
    ["--config --write", "The option --config needs a value"],
    ["--write=no a.db", "The option --write takes no value"],
    ["--port 65536", 'The port must be a whole number from 0 to 65535, not "65536"'],
    ["--workers 0", 'The workers must be a whole number from 1 to 256, not "0"'],
    ["--workers all", 'The workers must be a whole number from 1 to 256, not "all"'],
    ["--worker 2", "Unknown option --worker: did you mean --workers?"],
    ["--host a/b", 'The host must be an address to bind, like "127.0.0.1", not "a/b"'],
    ["--port 1e3", 'The port must be a whole number from 0 to 65535, not "1e3"'],
    [
      "a.db --trust-proxy all",
      'The number of proxies must be a whole number from 0 on, not "all"',
    ],
    ["--trust-proxy 1", "The option --trust-proxy belongs to a database: name its file or URL"],
    [
      "-c c.ts --mounted-at /v1",
      "The option --mounted-at belongs to a database: name its file or URL",
    ],
    ["a.db b.db", 'One database at a time: "b.db" is one too many'],
    ["--write", "The option --write belongs to a database: name its file or URL"],
    ["--schema a", "The option --schema belongs to a database: name its file or URL"],
    ["a --schema b,,c", 'The schemas must be names between commas, as in a,b or "a,b",c, not b,,c'],
    ["--key v=x", "The option --key belongs to a database: name its file or URL"],
    ["a.db --key v", "A key must be given as view=column or view=a,b, not v"],
    ["a.db --key v=a,", "A key must be given as view=column or view=a,b, not v=a,"],
    ["a.db --key v=a --key v=b", "Give one key for v: a composite one is v=a,b"],
    ["--users", "The option --users belongs to a database: name its file or URL"],
    ["a.db --kv b", "The option --kv belongs to --users, and to the commands keys and users"],
    [
      "uninstal a.db",
      "There is no command uninstal: did you mean uninstall? For a file of this name, write ./uninstal",
    ],
    [
      "chekc",
      "There is no command chekc: did you mean check? For a file of this name, write ./chekc",
    ],
    ["serve a.db", "There is no command serve: to serve a.db, name it alone"],
    [
      "help user",
      "There is no command user: did you mean users? For a file of this name, write ./user",
    ],
    ["help a b", 'help takes one command: "b" is one too many'],
    ["search rendex", "search takes reindex or outbox"],
    ["credits grant a -5", "credits grant takes no negative number: -5"],
    ["keys", "keys takes create, list, revoke"],
    ["keys creat", 'keys takes create, list, revoke, not "creat"'],
    ["keys create", "keys create needs --name, which says what it is for"],
    ["keys create ci", 'keys create takes no "ci": name the key by --name'],
    ["keys create --name ci --expires soon", '--expires takes 12h, 90d or 1y, not "soon"'],
    ["keys create --name ci --expires 0d", '--expires takes 12h, 90d or 1y, not "0d"'],
    ["keys create --name ci --expires 000h", '--expires takes 12h, 90d or 1y, not "000h"'],
    ["users role a@b.c ,", "users role takes the names of roles; without any it takes all away"],
    ["keys create --nam ci", "keys create has no option --nam: did you mean --name?"],
    ["keys list --name ci", "keys list has no option --name"],
    ["keys revoke", "keys revoke needs the id of one key"],
    ["users add", "users add needs the e-mail address of an account"],
    ["users add a b", 'users add takes one account: "b" is one too many'],
    [
      "users drop a",
      'users takes add, list, role, disable, enable, password, logout, delete, not "drop"',
    ],
    ["users list --kv", "The option --kv needs a value"],
    ["users add --name --roles x", "The option --name needs a value"],
    [
      "keys list --kv a --config b",
      "Give --kv or --config, not both: a configuration names its own store",
    ],
    ["users add a --password-stdin=x", "The option --password-stdin takes no value"],
    [
      "a.db --config b.ts",
      "Give a database or --config, not both: a configuration names its own database",
    ],
  ];
  for (const [args, message] of cases) {
    assertEquals(parseArguments(args.split(" ")), { kind: "misused", message }, args);
  }
});

Deno.test("the nearest name is suggested, and none when no name is near", () => {
  const names = ["port", "host", "public", "write"];
  assertEquals(nearestName("prt", names), "port");
  assertEquals(nearestName("publik", names), "public");
  assertEquals(nearestName("zzzzzz", names), null);
  assertEquals(nearestName("", names), null);
  // Half of it is another word; two letters in the wrong order are one mistake.
  assertEquals(nearestName("create", ["read", "subscribe"]), null);
  assertEquals(nearestName("raed", ["read", "subscribe"]), "read");
});

Deno.test("--pooler adds its URL to that of the server", () => {
  const pooler = "postgres://app@p:6432/shop?a=1&b=2";
  const databaseOf = (...args: readonly string[]) => {
    const command = parseArguments([...args, "--pooler", pooler]);
    return command.kind === "serve" ? command.database : command;
  };
  const added = `pooler=${encodeURIComponent(pooler)}`;
  assertEquals(databaseOf("postgres://db/shop"), `postgres://db/shop?${added}`);
  assertEquals(
    databaseOf("postgres://db/shop?sslmode=require"),
    `postgres://db/shop?sslmode=require&${added}`,
  );
  assertEquals(databaseOf("host=db"), `postgres://?host=db&${added}`);
  for (const args of [["shop.db"], [], ["postgres://db", "--write", "--changes-schema", "s"]]) {
    const command = parseArguments([...args, "--pooler", pooler]);
    assertEquals([args, command.kind], [args, "misused"]);
  }
});
