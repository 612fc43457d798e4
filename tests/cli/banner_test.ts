import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { banner, type BannerFacts, shellQuote } from "../../src/cli/banner.ts";

const facts: BannerFacts = {
  version: "1.2.3",
  subject: "shop.db, read-only",
  host: "127.0.0.1",
  port: 8123,
  paths: ["/api/orders", "/api/order%20lines"],
  rights: { token: null, readsNeedToken: false, localOnly: false, writable: false },
  example: "/api/orders?limit=3",
};

Deno.test("the banner shows the subject, the addresses and an example", () => {
  assertEquals(
    banner(facts),
    `resource-api 1.2.3: serving shop.db, read-only

  http://127.0.0.1:8123/api/orders
  http://127.0.0.1:8123/api/order%20lines
  http://127.0.0.1:8123/healthz

Try:
  curl -g 'http://127.0.0.1:8123/api/orders?limit=3'
`,
  );
});

Deno.test("the token is shown, and is part of the command where reads need it", () => {
  const open = banner({
    ...facts,
    rights: { token: "t_x", readsNeedToken: false, localOnly: false, writable: true },
  });
  assertStringIncludes(open, "Writes need the header  Authorization: Bearer t_x");
  assertStringIncludes(open, "\n  curl -g 'http");
  const closed = banner({
    ...facts,
    rights: { token: "t_x", readsNeedToken: true, localOnly: false, writable: false },
  });
  assertStringIncludes(closed, "curl -g -H 'Authorization: Bearer t_x' 'http");
});

Deno.test("the address of all interfaces is shown as one that a client can connect to", () => {
  assertStringIncludes(banner({ ...facts, host: "0.0.0.0" }), "'http://127.0.0.1:8123/");
  assertStringIncludes(banner({ ...facts, host: "::" }), "'http://[::1]:8123/");
});

Deno.test("many tables do not push the rest of the banner off the screen", () => {
  const paths = Array.from({ length: 200 }, (_, index) => `/api/t${index}`);
  const text = banner({ ...facts, paths });
  assert(text.split("\n").length < 50);
  assertStringIncludes(text, "… and 170 more");
});

Deno.test("a control character in a name does not reach the terminal", () => {
  assert(!banner({ ...facts, subject: "\u001b[2Jx.db" }).includes("\u001b"));
});

Deno.test("a shell takes a quoted text literally", async () => {
  for (const text of ["it's", '$HOME `id` \\ "x" !', "'", "''", "a\nb", ""]) {
    const { stdout } = await new Deno.Command("sh", {
      args: ["-c", `printf %s ${shellQuote(text)}`],
    }).output();
    assertEquals(new TextDecoder().decode(stdout), text);
  }
});
