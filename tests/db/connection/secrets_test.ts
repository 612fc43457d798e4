import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { openDatabase } from "../../../mod.ts";
import { withoutSecrets } from "../../../src/engines/server_url.ts";
import { databaseUrl } from "../../../src/cli/database/resolve_database_url.ts";

/** Strings that cannot be read, each with a part of the reason. All contain parts of `pAss+wOrd`. */
const malformed: readonly (readonly [text: string, reason: RegExp])[] = [
  ["postgres://app:pAss@wOrd@127.0.0.1:1/shop", /%40/],
  ["postgres://app:pAss/wOrd@127.0.0.1:1/shop", /%2F/],
  ["postgres://app:12/wOrd@127.0.0.1:1/shop", /%2F/],
  ["postgres://app:12/p?wOrd@127.0.0.1:1/shop", /no =/],
  ["postgres://app:12/p?pAss=wOrd@127.0.0.1:1/shop", /unknown parameter/],
  ["postgres://app:12/p?sslmode=wOrd@127.0.0.1:1/shop", /sslmode must be/],
  ["postgres://app:pAss%wOrd@127.0.0.1:1/shop", /the password of the URL has a %/],
  ["postgres://app:pAss%00@127.0.0.1:1/shop", /the password of the URL has a %/],
  ["postgres://app:pAss[wOrd@127.0.0.1:1/shop?a", /no =/],
  ["postgres://app:pAss@[::1/shop", /IPv6/],
  ["postgres://app:pAss@127.0.0.1:wOrd/shop", /port is not a whole number/],
  ["postgres://app:pAss", /port is not a whole number/],
  ["postgres://127.0.0.1:1/shop?password=pAss&x wOrd=2", /unknown parameter/],
  ["host=127.0.0.1 password='pAss wOrd", /NAME=VALUE/],
  ["host=127.0.0.1 password=pAss wOrd", /NAME=VALUE/],
  ["password=pAss host=127.0.0.1 port=wOrd", /port is not a whole number/],
];

Deno.test("a malformed URL is an uncaught TypeError that shows the password", async () => {
  for (const [text, reason] of malformed) {
    const error = await assertRejects(async () => await openDatabase(await databaseUrl(text)));
    assert(error instanceof Error && error.constructor === Error, `${text}: ${error}`);
    assertMatch(error.message, /^Cannot open the database: /);
    assertMatch(error.message, reason);
    assert(!/pAss|wOrd/.test(Deno.inspect(error)), `${text}: ${Deno.inspect(error)}`);
  }
});

Deno.test("a password with any character opens a connection, and no message shows it", async () => {
  const notices: unknown[] = [];
  const observe = (observation: unknown) => void notices.push(observation);
  for (const text of ["postgres://app:p?A#s%20s:&=@127.0.0.1:1/shop"]) {
    const db = await openDatabase(text, { observe });
    assertEquals(db.label, "postgres://127.0.0.1:1/shop");
    await db.close();
  }
  assertEquals(notices.length, 1);
  assert(!/A#s/.test(Deno.inspect(notices)), Deno.inspect(notices));
});

Deno.test("a URL with a typing error that makes it a path shows no password", async () => {
  const places = [
    "postgres//app:pAss@wOrd@db/shop",
    '"postgres://app:pAss/wOrd@db/shop"',
    " postgres://app:pAss@db/shop",
    "psql postgres://app:pAss@db/shop",
    "sqlite:postgres://app:pAss@db/shop",
    "pstgres://app:pAss@db/shop",
  ];
  for (const place of places) {
    for (const open of [databaseUrl, openDatabase]) {
      const opened = async () => await openDatabase(await open(place) as string);
      const error = await assertRejects(opened, Error, "Cannot ");
      assert(!/pAss|wOrd/.test(error.message), error.message);
    }
  }
});

Deno.test("the command line shows a database without its login and parameters", () => {
  const shown = [
    ["postgres://app:secret@db:1/shop?password=secret", "postgres://…@db:1/shop?…"],
    ["postgres://db/shop", "postgres://db/shop"],
    ["host=db password=secret", "…"],
    ["./shop?.db", "./shop?.db"],
  ];
  for (const [place = "", expected] of shown) assertEquals(withoutSecrets(place), expected);
});
