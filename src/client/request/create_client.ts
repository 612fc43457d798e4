import type { ApiOf, Client } from "../../api/resource_client.ts";
import type { CreateClientOptions } from "./client_options.ts";
import { handle } from "../../api/handle.ts";
import { createRequests } from "./requests.ts";
import { createTransport } from "./transport.ts";

/**
 * Creates a client of a service. The type `Api` describes the service's resources: the command
 * `resource-api types` writes it, and `InferApi` derives it from the service's configuration.
 *
 * @example
 * ```ts ignore
 * const api = createClient<Api>({ baseUrl: "https://example.com", token: () => session.token });
 * const { items } = await api.notes.list({ filter: rsql`title==${"Tea"}`, limit: 10 });
 * ```
 */
export function createClient<Api extends ApiOf<Api>>(options: CreateClientOptions): Client<Api> {
  const transport = createTransport(options);
  const { basePath } = transport;
  const resources: Record<PropertyKey, unknown> = {
    // The object has no prototype, because a resource can have a name like `toString`.
    __proto__: null,
    [handle]: { transport, path: basePath },
  };
  const client = new Proxy(resources, {
    get(known, name) {
      // `await` reads the member `then`, so `then` must not be the name of a resource.
      if (typeof name === "symbol" || name === "then") return known[name];
      const path = `${basePath}/${encodeURIComponent(name).replace(/%2F/g, "/")}`;
      return known[name] ??= createRequests({ transport, path });
    },
  });
  // The cast is safe: the service has the resources and operations that `Api` declares.
  return client as unknown as Client<Api>;
}
