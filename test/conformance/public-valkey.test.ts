import { valkeyRows } from "./public-rows.ts";
import { publicSuites } from "./public-subjects.ts";

for (const row of valkeyRows) publicSuites(row);
