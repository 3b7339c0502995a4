import { publicRows } from "./public-rows.ts";
import { publicSuites } from "./public-subjects.ts";

for (const row of publicRows) publicSuites(row);
