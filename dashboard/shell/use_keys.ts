import { useEffect } from "preact/hooks";
import { href } from "./route.ts";

/** The pages that a key opens after `g`. */
const places: Readonly<Record<string, string>> = {
  o: "",
  r: "rights",
  f: "filter",
  s: "streams",
  q: "requests",
  l: "load",
  p: "problems",
  a: "audit",
  c: "configuration",
};

/** The keys of the dashboard: `/` searches, `g` and a letter opens a page, `g d` the first resource. */
export function useKeys(firstResource: string | undefined): void {
  useEffect(() => {
    let isGoing = false;
    const follow = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
      if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLElement>(".menu[aria-expanded=false]")?.click();
        document.getElementById("search")?.focus();
      }
      const place = event.key === "d" && firstResource ? firstResource : places[event.key];
      if (isGoing && place !== undefined) location.hash = href(place);
      isGoing = event.key === "g";
    };
    addEventListener("keydown", follow);
    return () => removeEventListener("keydown", follow);
  }, [firstResource]);
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement &&
    target.closest("input, textarea, select, dialog, [role=grid]") !== null;
}
