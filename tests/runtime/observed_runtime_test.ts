import { assertEquals } from "@std/assert";
import { observedRuntime, withObserver } from "../../src/runtime/observed_runtime.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

const notice = (message: string): Observation => ({ kind: "notice", message });

Deno.test("an observer that throws is reported by the usual observer, and nothing fails", () => {
  const usual: string[] = [];
  const seen: string[] = [];
  const runtime = observedRuntime({
    observe(observation) {
      seen.push(observation.kind);
      throw new Error("no luck");
    },
  }, systemRuntime(({ kind }) => usual.push(kind)));
  runtime.observe(notice("one"));
  assertEquals([seen, usual], [["notice"], ["uncaught_error"]]);
});

Deno.test("a runtime with another observer keeps all other members, also those of a class", async () => {
  const seen: Observation[] = [];
  class OwnRuntime {
    readonly clock = systemRuntime(() => {}).clock;
    readonly random = systemRuntime(() => {}).random;
    readonly #name = "own";
    observe() {}
    environment(name: string): string {
      return `${name} ${this.#name}`;
    }
    tablesChanged(): Promise<boolean> {
      return Promise.resolve(this.#name === "own");
    }
  }
  const runtime = withObserver(new OwnRuntime(), (one) => seen.push(one));
  runtime.observe(notice("two"));
  assertEquals(seen, [notice("two")]);
  assertEquals(runtime.environment("A"), "A own");
  assertEquals(await runtime.tablesChanged?.(), true);
});
