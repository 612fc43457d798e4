import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/runtime/system_runtime.ts";

Deno.test("where the host numbers its timers, as Deno 2.5 does, the first one failed", async () => {
  const { setTimeout } = globalThis;
  const numbered = (work: () => void, delayMs: number) => Number(setTimeout(work, delayMs));
  Object.defineProperty(globalThis, "setTimeout", {
    value: numbered,
    configurable: true,
    writable: true,
  });
  const fired: string[] = [];
  try {
    const cancel = systemClock.after(0, () => fired.push("cancelled"));
    cancel();
    systemClock.after(0, () => fired.push("kept"));
  } finally {
    Object.defineProperty(globalThis, "setTimeout", {
      value: setTimeout,
      configurable: true,
      writable: true,
    });
  }
  // A later timer of the same delay; the clock's own do not keep the process alive.
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(fired, ["kept"]);
});
