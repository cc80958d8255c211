// Intrusive containers: an object on such a list carries its own links, so that queueing it on a
// hot path costs no allocation.
#pragma once

#include <atomic>
#include <cstddef>

namespace godwit {

// A place on one list. An object may derive from several, told apart by Tag.
template <class Tag>
struct ListHook {
  ListHook* previous = nullptr;
  ListHook* next = nullptr;
  [[nodiscard]] bool linked() const noexcept { return next != nullptr; }
};

// Doubly linked; does not own. T derives from ListHook<Tag>.
template <class T, class Tag>
class IntrusiveList {
  using Hook = ListHook<Tag>;

 public:
  IntrusiveList() noexcept { ends_.previous = ends_.next = &ends_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  [[nodiscard]] bool empty() const noexcept { return ends_.next == &ends_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& front() noexcept { return static_cast<T&>(*ends_.next); }
  [[nodiscard]] T& back() noexcept { return static_cast<T&>(*ends_.previous); }

  void push_back(T& item) noexcept {
    Hook& hook = item;
    hook.previous = ends_.previous;
    hook.next = &ends_;
    ends_.previous->next = &hook;
    ends_.previous = &hook;
    ++size_;
  }
  void remove(T& item) noexcept {
    Hook& hook = item;
    hook.previous->next = hook.next;
    hook.next->previous = hook.previous;
    hook.previous = hook.next = nullptr;
    --size_;
  }
  T& pop_front() noexcept {
    T& item = front();
    remove(item);
    return item;
  }
  // Visits every item; the visitor may remove the item it is given.
  template <class F>
  void for_each(F&& visit) {
    for (Hook* hook = ends_.next; hook != &ends_;) {
      Hook* after = hook->next;
      visit(static_cast<T&>(*hook));
      hook = after;
    }
  }

 private:
  Hook ends_;
  std::size_t size_ = 0;
};

// Many threads push, one takes everything at once. Lock-free; the order of pushes is kept.
template <class T>
class Inbox {
 public:
  // T has a member `T* inbox_next`. True if the inbox was empty: the consumer needs a nudge.
  bool push(T& item) noexcept {
    T* head = head_.load(std::memory_order_relaxed);
    do {
      item.inbox_next = head;
    } while (!head_.compare_exchange_weak(head, &item, std::memory_order_release,
                                          std::memory_order_relaxed));
    return head == nullptr;
  }
  [[nodiscard]] bool empty() const noexcept {
    return head_.load(std::memory_order_relaxed) == nullptr;
  }
  // Calls `deliver` for each item, oldest first. An item may be pushed again, or destroyed, inside.
  template <class F>
  void drain(F&& deliver) {
    T* newest = head_.exchange(nullptr, std::memory_order_acquire);
    T* oldest = nullptr;
    while (newest != nullptr) {
      T* next = newest->inbox_next;
      newest->inbox_next = oldest;
      oldest = newest;
      newest = next;
    }
    while (oldest != nullptr) {
      T* next = oldest->inbox_next;
      deliver(*oldest);
      oldest = next;
    }
  }

 private:
  std::atomic<T*> head_{nullptr};
};

}  // namespace godwit
