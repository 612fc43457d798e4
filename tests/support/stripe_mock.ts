import { diskFolder } from "./disk.ts";
import { scratchFolder } from "./scratch.ts";
import { freePort } from "./ports.ts";

/** Stripe's own server for tests, on the loopback. */
export interface StripeMock extends AsyncDisposable {
  readonly url: string;
}

const module = "github.com/stripe/stripe-mock@v0.203.0";

/** Starts `stripe-mock`, named by `STRIPE_MOCK` or built by Go, which keeps what it has built. */
export async function startStripeMock(): Promise<StripeMock> {
  const port = freePort();
  const process = new Deno.Command(binary() ?? "stripe-mock", {
    // Without the second address it opens a port to the network.
    args: ["-http-addr", `127.0.0.1:${port}`, "-https-addr", "127.0.0.1:0"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      break;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}

/** Why it cannot be started; null where it can, after it was built. */
startStripeMock.missing = async (): Promise<string | null> => {
  if (binary() !== null) return null;
  await using folder = await scratchFolder();
  try {
    const { success } = await new Deno.Command("go", {
      args: ["install", module],
      env: { GOBIN: folder.path, GOFLAGS: "-modcacherw" },
      // Without its module proxy Go waits for long.
      signal: AbortSignal.timeout(180_000),
      stdout: "null",
      stderr: "null",
    }).output();
    if (!success) return "stripe-mock cannot be built: it needs Go 1.22 and its module proxy";
    await Deno.mkdir(cacheFolder(), { recursive: true });
    await Deno.copyFile(`${folder.path}/stripe-mock`, `${cacheFolder()}/stripe-mock`);
    return null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "stripe-mock cannot be built: there is no Go";
    throw error;
  }
};

/** Kept from one run to the next, so that it is built once. */
function cacheFolder(): string {
  return `${diskFolder}/resource-api-stripe-mock`;
}

function binary(): string | null {
  const named = Deno.env.get("STRIPE_MOCK") ?? `${cacheFolder()}/stripe-mock`;
  try {
    return Deno.statSync(named).isFile ? named : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
