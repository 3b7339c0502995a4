import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { accessSuite } from "./access/suite.ts";

let folder: string | undefined;

accessSuite(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	return `sqlite:${join(folder, "store.db")}`;
});
afterAll(async () => {
	if (folder !== undefined) await rm(folder, { recursive: true });
});
