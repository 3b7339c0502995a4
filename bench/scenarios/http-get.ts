import { Pool } from "undici";

const CONNECTIONS = 32;

/** Reads one path over and over on kept-alive connections. Answers per second. */
export async function readRepeatedly(address: string, path: string, count: number): Promise<number> {
	const pool = new Pool(address, { connections: CONNECTIONS });
	let left = count;
	const reader = async () => {
		while (left-- > 0) {
			const { statusCode, body } = await pool.request({ method: "GET", path });
			await body.arrayBuffer();
			if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
		}
	};
	const startedAt = performance.now();
	await Promise.all(Array.from({ length: CONNECTIONS }, reader));
	const perSecond = count / ((performance.now() - startedAt) / 1000);
	await pool.close();
	return perSecond;
}
