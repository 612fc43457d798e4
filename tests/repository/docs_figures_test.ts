import { assertEquals, assertThrows } from "@std/assert";
import { documentsWithFigures, withFigures } from "../../dev/docs_figures.ts";
import { root } from "./module_graph.ts";

for (const path of documentsWithFigures) {
  Deno.test(`${path} has the figures that deno task docs:figures writes`, () => {
    const document = Deno.readTextFileSync(root + path);
    assertEquals(/<!--[a-z-]+-->/.test(document), true, "it has figures");
    assertEquals(document, withFigures(document));
  });
}

Deno.test("a wrong figure is corrected, and an unknown figure is a fault", () => {
  const right = withFigures("at most <!--file-lines-->1<!--/--> lines");
  assertEquals(/^at most <!--file-lines-->\d{3}<!--\/--> lines$/.test(right), true);
  assertThrows(() => withFigures("<!--moon-->1<!--/-->"), Error, 'There is no figure "moon"');
});
