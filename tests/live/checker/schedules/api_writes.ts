import type { Reply } from "../../../../src/protocol/reply.ts";
import { writeJson } from "../../../../src/schema/exact_json.ts";
import type { Chance } from "../chance.ts";
import type { Instance } from "./instance.ts";
import { type UserName, users } from "./world.ts";
import { codes, maxThings, patch, thing, without } from "./write_values.ts";

/** Writes by the API as a user; returns what was wrong with the answer, if anything was. */
export async function writeByApi(instance: Instance, chance: Chance): Promise<string | null> {
  const user = chance.pick(users);
  const [method, path, body] = chance.once(6) ? partsRequest(chance) : thingsRequest(chance);
  const reply = await send(instance, user, method, path, body);
  // A write that waits too long for others is refused, to be tried again.
  if (reply.status < 500 || reply.status === 503) return null;
  return `${method} ${path} ${writeJson(body)} was answered ${reply.status} ${reply.body}`;
}

type WriteRequest = readonly [method: string, path: string, body?: unknown];

function thingsRequest(chance: Chance): WriteRequest {
  const id = () => chance.below(maxThings);
  const items = () => Array.from({ length: 1 + chance.below(4) }, () => thing(chance, id()));
  const path = "/api/things";
  switch (
    chance.weighted({
      ...{ create: 6, patch: 10, put: 4, delete: 3, restore: 3, upsert: 4 },
      ...{ batchCreate: 2, batchPatch: 4, batchPut: 2, batchDelete: 1 },
    })
  ) {
    case "create":
      return ["POST", path, thing(chance, id())];
    case "patch":
      return ["PATCH", `${path}/${id()}`, patch(chance)];
    case "put":
      return ["PUT", `${path}/${id()}`, without(thing(chance, 0), "id")];
    case "delete":
      return ["DELETE", `${path}/${id()}`];
    case "restore":
      return ["POST", `${path}/${id()}/restore`];
    case "upsert":
      return ["POST", `${path}/batch/upsert`, { items: items() }];
    case "batchCreate":
      return ["POST", `${path}/batch`, { items: items() }];
    case "batchPatch":
      return ["PATCH", `${path}/batch`, { filter: someThings(chance), patch: patch(chance) }];
    case "batchPut":
      return ["PUT", `${path}/batch`, { items: items() }];
    case "batchDelete":
      return ["DELETE", `${path}/batch`, { filter: `id=in=(${id()},${id()})` }];
  }
}

function partsRequest(chance: Chance): WriteRequest {
  const code = chance.pick(codes);
  const body = { code, thingId: chance.below(maxThings), label: chance.pick(["a", "b", null]) };
  const path = `/api/parts/${encodeURIComponent(code)}`;
  switch (chance.weighted({ create: 5, patch: 4, delete: 1 })) {
    case "create":
      return ["POST", "/api/parts", body];
    case "patch":
      return ["PATCH", path, without(body, "code")];
    case "delete":
      return ["DELETE", path];
  }
}

function someThings(chance: Chance): string {
  const [low, high] = [chance.below(maxThings), chance.below(maxThings)];
  return chance.pick([`id=between=(${low},${high})`, `age>${low}`, `ownerId==ada`, "ok==true"]);
}

/** Sends a request as a client does. */
export function send(
  instance: Instance,
  user: UserName,
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply> {
  return instance.answer(
    new Request(`http://test${path}`, {
      method,
      headers: {
        "x-user": user,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? null : writeJson(body),
    }),
  );
}
