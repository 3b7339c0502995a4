import { widestRows } from "./public-rows.ts";
import { widestSuites } from "./public-subjects.ts";

for (const row of widestRows) widestSuites(row, process.env.FF_WIDEST === "1");
