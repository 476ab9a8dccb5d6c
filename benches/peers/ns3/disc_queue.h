// A queue disc of ns-3 in the place of a device's own queue.
//
// Where ns-3 has queue discs, above the device, at least one packet has left the disc and waits in the device's queue. Here the
// device takes its next packet from the disc itself when the one before has left, as any description of these disciplines assumes.
#pragma once

#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <string>
#include <vector>

namespace peers
{

using namespace ns3;

// A packet with its PPP header on. Its flow is known by the ports, its ECN field cannot be written.
class FramedItem : public QueueDiscItem
{
  public:
    FramedItem(Ptr<Packet> packet)
        : QueueDiscItem(packet, Address(), 0)
    {
    }

    void AddHeader() override
    {
    }

    bool Mark() override
    {
        return false;
    }

    uint32_t Hash(uint32_t) const override
    {
        uint8_t bytes[26]; // 2 of PPP, 20 of IPv4, the ports: that of the receiver is a number of the flow
        const uint32_t copied = GetPacket()->CopyData(bytes, sizeof bytes);
        return copied == sizeof bytes ? bytes[24] << 8 | bytes[25] : 0;
    }
};

class DiscQueue : public Queue<Packet>
{
  public:
    // `description` is the name of a class without ns3::, then attributes: CoDelQueueDisc,MaxSize=1000p
    DiscQueue(const std::vector<std::string>& description, uint64_t rateBps)
    {
        ObjectFactory factory("ns3::" + description.at(0));
        for (std::size_t i = 1; i < description.size(); ++i)
        {
            const std::size_t equals = description[i].find('=');
            NS_ABORT_MSG_IF(equals == std::string::npos, "an attribute has the form NAME=VALUE, not " << description[i]);
            factory.Set(description[i].substr(0, equals), StringValue(description[i].substr(equals + 1)));
        }
        m_disc = factory.Create<QueueDisc>();
        if (auto red = DynamicCast<RedQueueDisc>(m_disc))
        {
            red->SetAttribute("LinkBandwidth", DataRateValue(DataRate(rateBps)));
        }
        if (auto fq = DynamicCast<FqCoDelQueueDisc>(m_disc))
        {
            fq->SetQuantum(1502); // a full packet with its PPP header
        }
        m_disc->Initialize();
    }

    bool Enqueue(Ptr<Packet> packet) override
    {
        return m_disc->Enqueue(Create<FramedItem>(packet));
    }

    Ptr<Packet> Dequeue() override
    {
        Ptr<QueueDiscItem> item = m_disc->Dequeue();
        if (!item)
        {
            return nullptr;
        }
        m_waited.push_back((Simulator::Now() - item->GetTimeStamp()).GetSeconds());
        return item->GetPacket();
    }

    Ptr<Packet> Remove() override
    {
        return Dequeue();
    }

    Ptr<const Packet> Peek() const override
    {
        return nullptr; // nobody asks
    }

    double MeanWait() const
    {
        double sum = 0;
        for (double waited : m_waited)
        {
            sum += waited;
        }
        return m_waited.empty() ? 0 : sum / m_waited.size();
    }

    double Wait95()
    {
        std::sort(m_waited.begin(), m_waited.end());
        return m_waited.empty() ? 0 : m_waited[(95 * m_waited.size() + 99) / 100 - 1];
    }

    Ptr<QueueDisc> m_disc;

  private:
    std::vector<double> m_waited;
};

} // namespace peers
