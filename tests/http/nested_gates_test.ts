import { assertEquals } from "@std/assert";
import { solve } from "../../exports/proof_of_work.ts";
import { type Answer, testOnEngines, withService } from "../support/http.ts";
import { budget } from "./guard_support.ts";
import { ada, type Changes, counts, everyTable, musicResources } from "./nested_support.ts";

const pow = { secret: "a secret for the tests only", difficulty: 4 };
const body = { name: "Nina", albums: [{ title: "a", tracks: [{ title: "x" }, { title: "y" }] }] };

function configOf(changes: Changes, protection: object = {}) {
  return () => ({
    kv: ":memory:",
    abuseProtection: { pow, ...protection },
    resources: musicResources(changes),
  });
}

async function solved({ headers }: Answer): Promise<Record<string, string>> {
  const token = headers.get("service-pow-challenge") ?? "";
  const difficulty = Number(headers.get("service-pow-difficulty"));
  const nonce = await solve({ token, difficulty });
  return { "service-pow-challenge": token, "service-pow-nonce": nonce };
}

testOnEngines("embedded rows cost what the resource around them costs", (engine) => {
  const changes: Changes = {
    artists: { cost: { create: 0 } },
    albums: { cost: { create: 10 } },
    tracks: { cost: { create: 0.5 } },
    awards: { cost: { create: 4 } },
  };
  const limits = { pow: undefined, budget: budget(20) };
  return withService(engine, everyTable, configOf(changes, limits), async ({ db, send }) => {
    const create = (rows: object) => send("POST", "/api/artists", rows, ada);
    assertEquals((await create({ name: "free" })).headers.get("ratelimit"), null);
    const first = await create(body);
    assertEquals([first.status, first.headers.get("ratelimit")], [201, `"budget";r=9`]);
    const refused = await create({ name: "Miles", albums: [{ title: "b" }] });
    assertEquals([refused.status, refused.body.code], [429, "BUDGET_EXHAUSTED"]);
    // The prize costs one token, as the artist does where nothing is set, and the award four.
    const linked = await create({ name: "Miles", prizes: [{ name: "p" }] });
    assertEquals([linked.status, linked.headers.get("ratelimit")], [201, `"budget";r=4`]);
    assertEquals(await counts(db), { artists: 3, albums: 1, tracks: 2, prizes: 1, awards: 1 });
  });
});

testOnEngines("the gate of a resource was evaded by embedding its rows", async (engine) => {
  for (const path of ["/api/artists", "/api/artists/batch"]) {
    const changes: Changes = { tracks: { pow: { difficulty: 7 } } };
    await withService(engine, everyTable, configOf(changes), async ({ db, send }) => {
      const create = (headers = {}) =>
        send("POST", path, path.endsWith("batch") ? { items: [body] } : body, {
          ...ada,
          ...headers,
        });
      const other = await send("POST", "/api/artists", { name: "free" }, ada);
      assertEquals(other.status, 201, "nothing is embedded");
      const refused = await create();
      assertEquals(refused.status, 428);
      assertEquals(refused.headers.get("service-pow-difficulty"), "7");
      assertEquals(await counts(db), { artists: 1 });
      const solution = await solved(refused);
      assertEquals((await create(solution)).status, 201);
      assertEquals((await create(solution)).status, 428, "once");
    });
  }
});

testOnEngines(
  "one solution passes the gates of a path and of the rows in its body",
  async (engine) => {
    const changes: Changes = {
      artists: { pow: { difficulty: 4 } },
      albums: { pow: { difficulty: 8 } },
      tracks: { pow: { difficulty: 6 } },
    };
    await withService(engine, everyTable, configOf(changes), async ({ send }) => {
      const create = (headers = {}) => send("POST", "/api/artists", body, { ...ada, ...headers });
      const first = await create();
      assertEquals(first.headers.get("service-pow-difficulty"), "4");
      const second = await create(await solved(first));
      assertEquals([second.status, second.headers.get("service-pow-difficulty")], [428, "8"]);
      assertEquals((await create(await solved(second))).status, 201);
    });
  },
);

testOnEngines("the CAPTCHA of a resource was evaded by embedding its rows", async (engine) => {
  const actions: (string | undefined)[] = [];
  const verifier = {
    provider: "riddle",
    siteKey: "the-sphinx",
    verify: ({ action }: { readonly action?: string | undefined }) => {
      actions.push(action);
      return Promise.resolve(true);
    },
  };
  const changes: Changes = {
    artists: { pow: { difficulty: 4 } },
    albums: { captcha: { action: "album" } },
  };
  const limits = { captcha: { verifier } };
  await withService(engine, everyTable, configOf(changes, limits), async ({ send }) => {
    const create = (headers = {}) => send("POST", "/api/artists", body, { ...ada, ...headers });
    const work = await solved(await create());
    const refused = await create(work);
    assertEquals([refused.status, refused.body.code], [428, "CAPTCHA_REQUIRED"]);
    const again = await solved(await create());
    const served = await create({ ...again, "service-captcha-token": "a-token" });
    assertEquals([served.status, actions], [201, ["album"]]);
  });
});
