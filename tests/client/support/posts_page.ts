import { type Client, type ClientEnvironment, createClient } from "../../../exports/client.ts";
import { run } from "../../support/scratch.ts";
import { type Api, type Service, withService } from "../outbox/outbox_support.ts";
import { fastEnvironment } from "./fast_environment.ts";

/** A client of a service with posts whose ids are 1, 2, … and whose titles are `t1`, `t2`, … */
export interface PostsPage {
  readonly api: Client<Api>;
  readonly service: Service;
  /** How many live streams the client has asked for. */
  streams(): number;
}

/** Runs `work` in a page, and waits until its streams have ended. */
export async function withPostsPage(
  work: (page: PostsPage) => Promise<void>,
  { rows = 3, environment = fastEnvironment(20) }: {
    readonly rows?: number;
    readonly environment?: ClientEnvironment;
  } = {},
): Promise<void> {
  await withService(async (service) => {
    const values = Array.from({ length: rows }, (_, index) => `(${index + 1}, 't${index + 1}')`);
    await run(service.db, `INSERT INTO posts (id, title) VALUES ${values.join(",")}`);
    let [open, asked] = [0, 0];
    const api = createClient<Api>({
      ...{ baseUrl: "http://test", environment },
      fetch(request) {
        if (request.url.endsWith("/live")) {
          open++;
          asked++;
          request.signal.addEventListener("abort", () => open--);
        }
        return service.fetch(request);
      },
    });
    await work({ api, service, streams: () => asked });
    // A connection without lists closes a little later, for a page that opens others.
    await eventually(() => open === 0, () => `${open} open streams`);
  });
}

/** Waits until `isRight`; fails with what is shown after ten seconds. */
export async function eventually(isRight: () => boolean, shown: () => unknown): Promise<void> {
  const end = Date.now() + 10_000;
  while (!isRight()) {
    if (Date.now() > end) throw new Error(`Not in time: ${shown()}`);
    await new Promise((resolve) => setTimeout(resolve));
  }
}
