import type { ApiOf, Client } from "../../api/resource_client.ts";
import type { CreateClientOptions } from "./client_options.ts";
import { handle } from "../../api/handle.ts";
import { createRequests } from "./requests.ts";
import { createTransport } from "./transport.ts";

/**
 * Creates a client of a service. `Api` is the type of the service's resources: `resource-api types`
 * writes it, and `InferApi` derives it from the configuration of the service.
 */
export function createClient<Api extends ApiOf<Api>>(options: CreateClientOptions): Client<Api> {
  const transport = createTransport(options);
  const { basePath } = transport;
  const resources: Record<PropertyKey, unknown> = {
    // The client has no prototype, because a resource may have a name such as `constructor`.
    __proto__: null,
    [handle]: { transport, path: basePath },
  };
  const client = new Proxy(resources, {
    get(known, name) {
      // `await` reads `then` of a client.
      if (typeof name === "symbol" || name === "then") return known[name];
      const path = `${basePath}/${encodeURIComponent(name).replace(/%2F/g, "/")}`;
      return known[name] ??= createRequests({ transport, path });
    },
  });
  // The service has a resource at each path of `Api`, with the operations of its type.
  return client as unknown as Client<Api>;
}
