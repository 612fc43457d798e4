import { assertEquals } from "@std/assert";
import { Hono } from "@hono/hono";
import { HTTPException } from "@hono/hono/http-exception";
import { type App, integer, type Middleware, Problem, resource, table } from "../../mod.ts";
import { testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey() });

/** The forms in which a middleware refuses. */
const forms: Readonly<Record<string, () => Response>> = {
  "a problem": () => {
    throw new Problem("unauthorized", "Wrong");
  },
  "an exception": () => {
    throw new HTTPException(401, { message: "Wrong" });
  },
  "a response": () => new Response("Wrong", { status: 401 }),
};

function identify(refuse: () => Response): Middleware {
  return async (context, next) => {
    const key = context.req.header("x-api-key");
    if (key !== undefined && key !== "right") return refuse();
    if (key !== undefined) context.set("user", { id: "ada" });
    return await next();
  };
}

for (const [form, refuse] of Object.entries(forms)) {
  testOnEngines(
    `wrong credentials were tried without limit, refused by ${form}`,
    async (engine) => {
      const config = {
        kv: ":memory:",
        auth: { middleware: identify(refuse) },
        resources: [
          resource(notes, {
            id: notes.id,
            auth: { public: true },
            rateLimit: { windowMs: 60_000, maxRequests: 3 },
          }),
        ],
      };
      await withService(engine, [notes], () => config, async ({ app }) => {
        for (const [mount, fetch] of [["", app.fetch], ["/v1", mounted(app)]] as const) {
          const hostname = mount === "" ? "192.0.2.1" : "192.0.2.2";
          const get = async (key: string | null, path = "/api/notes", from = hostname) => {
            const headers: Record<string, string> = key === null ? {} : { "x-api-key": key };
            const request = new Request(`http://test${mount}${path}`, { headers });
            const answer = await fetch(request, { remoteAddr: { hostname: from } });
            await answer.text();
            return [answer.status, answer.headers.get("ratelimit")?.split(";")[1]];
          };
          assertEquals(await get("a", "/api/other"), [401, undefined], "no resource");
          assertEquals(await get("a"), [401, "r=2"]);
          assertEquals(await get("b", "/api/notes/count"), [401, "r=1"]);
          assertEquals(await get(null), [200, "r=0"], "an anonymous client of the address");
          assertEquals((await get("c"))[0], 429);
          assertEquals((await get("d", "/api/notes", `${hostname}7`))[0], 401);
          if (mount !== "") continue;
          assertEquals(await get("right"), [200, "r=2"], "nobody can lock a user out");
        }
      });
    },
  );
}

function mounted({ hono }: App): (request: Request, info: object) => Promise<Response> {
  const parent = new Hono().route("/v1", hono);
  return async (request, info) => await parent.fetch(request, info);
}
