/**
 * The orders of an imaginary shop, so that the support example has something to look up and something to miss.
 */

export interface Order {
  id: string;
  product: string;
  amount: number;
  state: "shipped" | "delivered" | "refunded";
}

const orders: Order[] = [
  { id: "A-100", product: "desk lamp", amount: 39, state: "delivered" },
  { id: "A-200", product: "standing desk", amount: 480, state: "delivered" },
  { id: "A-300", product: "office chair", amount: 260, state: "shipped" },
  { id: "A-400", product: "monitor arm", amount: 95, state: "refunded" },
];

export function findOrder(id: string): Order | undefined {
  return orders.find((order) => order.id === id.trim().toUpperCase());
}
