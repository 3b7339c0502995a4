import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../src/engine/engine.ts";
import type { LocalBackend } from "../src/engine/local-backend.ts";
import { FlowFabric } from "../src/index.ts";

/** A FlowFabric to measure, on a store of its own. */
export interface Target {
	ff: FlowFabric;
	engine: Engine;
	/** Folder for whatever else should lie on the same disk. */
	folder: string;
	close(): Promise<void>;
}

export const STORES = ["sqlite", "memory"] as const;
export type StoreName = (typeof STORES)[number];

export async function openTarget(store: StoreName, partitions: number): Promise<Target> {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-bench-"));
	const url = store === "sqlite" ? `sqlite:${join(folder, "bench.db")}` : "memory:";
	const ff = await FlowFabric.open(url, { partitions });
	return {
		ff,
		engine: (ff.backend as LocalBackend).engine,
		folder,
		async close() {
			await ff.close();
			await rm(folder, { recursive: true });
		},
	};
}

/** About 200 bytes of JSON, different each time. */
export const payload = (n: number): { n: number; text: string } => ({ n, text: "x".repeat(180) });
