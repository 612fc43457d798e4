/** The service, with the types that `deno task dev` writes to `api.d.ts`. */
import { createAuth, createClient } from "@svc/resource-api-client";
import type { Api } from "./api.d.ts";

export const api = createClient<Api>({ baseUrl: "" });
export const auth = createAuth(api);
