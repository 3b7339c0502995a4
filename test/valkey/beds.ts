import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "iovalkey";
import { type ClusterNode, type ClusterOptions, startCluster } from "../servers/valkey-cluster.ts";
import { launch } from "../servers/valkey-server.ts";

/** What was answered is on disk. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always"];

/** Servers for faults to happen to. */
export interface Bed {
	/** As users write it. */
	url: string;
	primaries: readonly BedNode[];
	replicas: readonly BedNode[];
	discard(): Promise<void>;
}

export type BedNode = Omit<ClusterNode, "replicaOf">;

export async function oneServer(): Promise<Bed> {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-faults-"));
	let server = await launch({ folder, settings: DURABLE });
	const { port } = server;
	const url = `redis://127.0.0.1:${port}`;
	const node: BedNode = {
		port,
		url,
		get pid() {
			return server.pid;
		},
		async end(signal) {
			if (signal) process.kill(server.pid, signal);
			await server.end();
		},
		async restart() {
			server = await launch({ folder, port, settings: DURABLE });
		},
	};
	const discard = async () => {
		await server.end();
		await rm(folder, { recursive: true, force: true });
	};
	return { url, primaries: [node], replicas: [], discard };
}

export async function cluster(options: ClusterOptions = {}): Promise<Bed> {
	const { url, primaries, replicas, stop } = await startCluster({ ...options, settings: DURABLE });
	return { url, primaries, replicas, discard: stop };
}

/** One command to one server, on a connection of its own. */
export async function tell(node: Pick<BedNode, "url">, ...command: [string, ...string[]]): Promise<unknown> {
	const admin = new Redis(node.url);
	try {
		return await admin.call(...command);
	} finally {
		admin.disconnect();
	}
}

/** Waits until a server says what is wanted of it; it may not answer for a while. */
export async function says(
	node: Pick<BedNode, "url">,
	wanted: RegExp,
	...command: [string, ...string[]]
): Promise<void> {
	const admin = new Redis(node.url, { maxRetriesPerRequest: null });
	const deadline = performance.now() + 30_000;
	try {
		while (!wanted.test(String(await admin.call(...command)))) {
			if (performance.now() > deadline) throw new Error(`${node.url} does not say ${wanted} of ${command.join(" ")}`);
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	} finally {
		admin.disconnect();
	}
}
