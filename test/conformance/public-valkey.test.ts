import { valkeyRows, widestRows } from "./public-rows.ts";
import { partitionSuite, publicSuites } from "./public-subjects.ts";

for (const row of valkeyRows) publicSuites(row);
for (const row of widestRows) partitionSuite(row);
