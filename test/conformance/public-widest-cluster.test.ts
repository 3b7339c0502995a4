import { widestClusterRows } from "./public-rows.ts";
import { widestSuites } from "./public-subjects.ts";

for (const row of widestClusterRows) widestSuites(row, process.env.FF_WIDEST === "1");
