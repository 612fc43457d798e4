import { jsonType, type Reply } from "../protocol/reply.ts";
import { writeJson } from "../schema/exact_json.ts";

/** A JSON answer. What a resource answers depends on who asks, so shared caches may not keep it. */
export function answer(
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): Reply {
  const fixed = { "content-type": jsonType, "cache-control": "private, no-cache" };
  return {
    status,
    headers: headers === undefined ? fixed : { ...fixed, ...headers },
    body: writeJson(body),
  };
}
