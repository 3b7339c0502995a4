import { Agent, request } from "node:http";

/** A process of its own that asks one thing over and over, so that the server's process does nothing but answer. */
interface Question {
	origin: string;
	path: string;
	token: string;
	count: number;
	connections: number;
}

process.on("message", async ({ origin, path, token, count, connections }: Question) => {
	const agent = new Agent({ keepAlive: true, maxSockets: connections });
	const headers = { authorization: `Bearer ${token}` };
	const ask = () =>
		new Promise<void>((resolve, reject) => {
			request(origin + path, { agent, headers }, (response) => {
				if (response.statusCode !== 200) reject(new Error(`answered ${response.statusCode}`));
				response.resume().on("end", resolve);
			})
				.on("error", reject)
				.end();
		});
	let left = count;
	const began = performance.now();
	const asker = async () => {
		while (left-- > 0) await ask();
	};
	await Promise.all(Array.from({ length: connections }, asker));
	agent.destroy();
	process.send?.(count / ((performance.now() - began) / 1000));
});
