import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "iovalkey";
import { freePort, launch, type ServerProcess } from "./valkey-server.ts";

const SLOTS = 16384;
const FORM_TIMEOUT_MS = 30_000;
/** Nodes begin to serve after as long as they take others to be slow; so while they meet it is short. */
const FORMING_NODE_TIMEOUT_MS = 1000;
const NODE_TIMEOUT_MS = 15_000;

/** One node of a cluster under test. */
export interface ClusterNode {
	readonly port: number;
	readonly url: string;
	/** Of the running server. */
	readonly pid: number;
	/** The primary it copies, when it is a replica. */
	readonly replicaOf: ClusterNode | undefined;
	/** Ends the process, at once with SIGKILL; its files stay. */
	end(signal?: "SIGKILL"): Promise<void>;
	/** Starts it again where it was. */
	restart(): Promise<void>;
}

/** A private cluster, its slots shared evenly among the primaries. */
export interface ValkeyCluster {
	/** As users write it: the first node, and `?cluster=true`. */
	url: string;
	primaries: readonly ClusterNode[];
	replicas: readonly ClusterNode[];
	stop(): Promise<void>;
}

export interface ClusterOptions {
	/** 3 when left out. */
	primaries?: number;
	/** Replicas of each primary; none when left out. */
	replicas?: number;
	/** As in `--appendonly`, `yes`; for every node. */
	settings?: readonly string[];
	/** After how long a node that does not answer is taken to have failed; long, unless failing is what is tested. */
	nodeTimeoutMs?: number;
}

/** Starts a cluster on free ports and waits until every node says that all slots are served. */
export async function startCluster(options: ClusterOptions = {}): Promise<ValkeyCluster> {
	const { primaries: count = 3, replicas: copies = 0 } = options;
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-cluster-"));
	const started: Member[] = [];
	const stop = async (): Promise<void> => {
		await Promise.all(started.map((node) => node.end()));
		await rm(folder, { recursive: true, force: true });
	};
	try {
		const start = async (replicaOf?: Member): Promise<Member> => {
			const node = await Member.start(join(folder, String(started.length)), options, replicaOf);
			started.push(node);
			return node;
		};
		const primaries: Member[] = [];
		for (let n = 0; n < count; n++) primaries.push(await start());
		const replicas: Member[] = [];
		for (const primary of primaries) for (let n = 0; n < copies; n++) replicas.push(await start(primary));
		await form(primaries, replicas);
		await Promise.all(started.map((node) => node.formed()));
		return { url: `${primaries[0]?.url}?cluster=true`, primaries, replicas, stop };
	} catch (error) {
		await stop();
		throw error;
	}
}

let shared: Promise<ValkeyCluster> | undefined;

/** One cluster for all tests of this process; it ends with the process. */
export function sharedCluster(): Promise<ValkeyCluster> {
	shared ??= startCluster();
	return shared;
}

class Member implements ClusterNode {
	readonly port: number;
	readonly replicaOf: Member | undefined;
	readonly #launch: (nodeTimeoutMs: number) => Promise<ServerProcess>;
	readonly #nodeTimeoutMs: number;
	#server: ServerProcess;

	static async start(folder: string, options: ClusterOptions, replicaOf: Member | undefined): Promise<Member> {
		await mkdir(folder);
		const [port, busPort] = [await freePort(), await freePort()];
		const { nodeTimeoutMs = NODE_TIMEOUT_MS, settings = [] } = options;
		const again = (nodeTimeout: number) => {
			const clustered = ["--cluster-enabled", "yes", "--cluster-node-timeout", String(nodeTimeout)];
			// Its usual place, 10000 above, may be beyond the last port there is.
			clustered.push("--cluster-port", String(busPort), "--repl-diskless-sync-delay", "0");
			return launch({ folder, port, settings: [...clustered, ...settings] });
		};
		return new Member(port, replicaOf, nodeTimeoutMs, again, await again(FORMING_NODE_TIMEOUT_MS));
	}

	private constructor(
		port: number,
		replicaOf: Member | undefined,
		nodeTimeoutMs: number,
		again: (nodeTimeoutMs: number) => Promise<ServerProcess>,
		server: ServerProcess,
	) {
		this.port = port;
		this.replicaOf = replicaOf;
		this.#nodeTimeoutMs = nodeTimeoutMs;
		this.#launch = again;
		this.#server = server;
	}

	get url(): string {
		return `redis://127.0.0.1:${this.port}`;
	}

	get pid(): number {
		return this.#server.pid;
	}

	async end(signal?: "SIGKILL"): Promise<void> {
		if (signal) process.kill(this.pid, signal);
		await this.#server.end();
	}

	async restart(): Promise<void> {
		this.#server = await this.#launch(this.#nodeTimeoutMs);
	}

	/** The cluster is there: from now on its nodes are as patient with each other as was asked for. */
	async formed(): Promise<void> {
		const admin = new Redis(this.url);
		await admin.call("CONFIG", "SET", "cluster-node-timeout", String(this.#nodeTimeoutMs));
		admin.disconnect();
	}
}

async function form(primaries: readonly Member[], replicas: readonly Member[]): Promise<void> {
	const all = [...primaries, ...replicas];
	const clients = new Map(all.map((node) => [node, new Redis(node.url)]));
	const ask = (node: Member, ...command: [string, ...string[]]): Promise<unknown> =>
		(clients.get(node) as Redis).call(...command);
	try {
		for (const [n, node] of all.entries()) await ask(node, "CLUSTER", "SET-CONFIG-EPOCH", String(n + 1));
		for (const [n, node] of primaries.entries()) {
			const [from, to] = [n, n + 1].map((edge) => Math.ceil((edge * SLOTS) / primaries.length)) as [number, number];
			await ask(node, "CLUSTER", "ADDSLOTSRANGE", String(from), String(to - 1));
		}
		const [first, ...others] = all as [Member, ...Member[]];
		for (const node of others) {
			const [, busPort] = (await ask(node, "CONFIG", "GET", "cluster-port")) as [string, string];
			await ask(first, "CLUSTER", "MEET", "127.0.0.1", String(node.port), busPort);
		}
		await until(async () => (await Promise.all(all.map((node) => known(ask, node)))).every((n) => n === all.length));
		for (const node of replicas) {
			await ask(node, "CLUSTER", "REPLICATE", String(await ask(node.replicaOf as Member, "CLUSTER", "MYID")));
		}
		await until(async () => (await Promise.all(all.map((node) => serves(ask, node)))).every(Boolean));
	} finally {
		for (const client of clients.values()) client.disconnect();
	}
}

type Ask = (node: Member, ...command: [string, ...string[]]) => Promise<unknown>;

async function known(ask: Ask, node: Member): Promise<number> {
	const nodes = String(await ask(node, "CLUSTER", "NODES"))
		.trim()
		.split("\n");
	return nodes.filter((line) => !/handshake|noaddr/.test(line)).length;
}

async function serves(ask: Ask, node: Member): Promise<boolean> {
	if (!/cluster_state:ok/.test(String(await ask(node, "CLUSTER", "INFO")))) return false;
	return !node.replicaOf || /master_link_status:up/.test(String(await ask(node, "INFO", "replication")));
}

async function until(done: () => Promise<boolean>): Promise<void> {
	const deadline = Date.now() + FORM_TIMEOUT_MS;
	while (!(await done())) {
		if (Date.now() > deadline) throw new Error("the nodes did not form a cluster");
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}
