/**
 * The platform of `examples/deploy.ts`, as far as a program notices it: first the crons of the top
 * level are collected, then the default export is served by a listener of the host's own. A POST to
 * `/host/cron/NAME` is the moment for which a cron waits.
 */
const crons = new Map<string, () => Promise<void> | void>();

function cron(name: string, _schedule: string, ...rest: readonly unknown[]): Promise<void> {
  const handler = rest.at(-1);
  if (typeof handler !== "function") throw new TypeError(`The cron ${name} has no handler`);
  crons.set(name, async () => void await handler());
  return Promise.resolve();
}

Object.defineProperty(Deno, "cron", { value: cron });

const { default: app } = await import("../../examples/deploy.ts");
const known = [...crons.keys()];

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(`127.0.0.1:${port} crons: ${known.join()}`),
}, async (request, info) => {
  const [, name] = /\/host\/cron\/(\w+)$/.exec(request.url) ?? [];
  if (name === undefined) return await app.fetch(request, info);
  await crons.get(name)?.();
  return new Response("done");
});
