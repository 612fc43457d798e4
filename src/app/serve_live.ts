import type { User } from "../auth/user.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { RouteTable } from "../resource/routes/route_table.ts";
import type { LiveHubs } from "../resource/live/live_hubs.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { BodyReadingOptions } from "../service/body_reading_options.ts";
import type { HonoApp } from "../service/hono_app.ts";
import { mountLive } from "../service/live/mount_live.ts";
import type { Responder } from "../service/responder.ts";

export interface LiveRoutesDependencies extends BodyReadingOptions {
  readonly table: RouteTable;
  readonly hubs: LiveHubs;
  readonly resolved: ResolvedConfig;
  readonly responder: Responder;
  readonly parseUser: (value: unknown) => User | null;
  readonly runtime: Runtime;
}

/** Adds the route of multiplexed streams if a resource is subscribable. Returns the app. */
export function serveLive(
  { hono, fetch, prefixOf }: HonoApp,
  served: LiveRoutesDependencies,
): Pick<HonoApp, "hono" | "fetch"> {
  const { table, hubs, resolved } = served;
  if (!table.routes.some(({ resource }) => resource.isSubscribable)) return { hono, fetch };
  mountLive(hono, {
    ...served,
    fetch,
    prefixOf,
    takeStream: (user, address, subscriptions) => hubs.takeStream(user, address, subscriptions),
    mountedAt: resolved.mountedAt,
  });
  return { hono, fetch };
}
